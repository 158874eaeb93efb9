// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions: the table of cosines and sines, and the rotation.
#include <bit>
#include <type_traits>
#include <vector>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"

namespace pleat::cuda {
namespace {

struct Turn {
  const double* frequency;
  float2* table;
  std::int64_t half;
  double magnitude;
  __device__ void operator()(std::int64_t i) const {
    const double angle = static_cast<double>(i / half) * frequency[i % half];
    double sine, cosine;
    sincos(angle, &sine, &cosine);
    table[i] = make_float2(static_cast<float>(magnitude * cosine),
                           static_cast<float>(magnitude * sine));
  }
};

}  // namespace

// Cosine and sine, float2, of every position < `positions` and pair, [positions, dim / 2], times
// the rule's magnitude: made in fp64 from rope_frequency, once for a rule, and kept by the set.
const void* rope_table(Resources& r, const RopeShape& s, std::int64_t positions) {
  for (const RopeTable& t : r.rope_tables()) {
    if (t.scaling == s.scaling && t.theta == s.theta && t.dim == s.dim &&
        t.positions >= positions) {
      return t.values.data();
    }
  }
  if (r.capturing()) {
    throw DeviceError("rope", "its table has to be made before a graph is captured", __FILE__,
                      __LINE__);
  }
  r.device().make_current();
  // Longer ones replace shorter ones only after the stream has used those.
  synchronize(r.stream());
  r.grow_older();
  std::erase_if(r.rope_tables(), [&](const RopeTable& t) {
    return t.scaling == s.scaling && t.theta == s.theta && t.dim == s.dim;
  });
  const std::int64_t half = s.dim / 2;
  const auto rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(positions)));
  RopeTable table{s.scaling, s.theta, s.dim, rows,
                  DeviceBuffer(static_cast<std::size_t>(rows * half) * sizeof(float2))};
  std::vector<double> frequency;
  for (std::int64_t i = 0; i < half; ++i) {
    frequency.push_back(rope_frequency(s.scaling, s.theta, s.dim, i));
  }
  const std::size_t bytes = frequency.size() * sizeof(double);
  const StreamBuffer on_device(r.stream(), bytes);
  PLEAT_CUDA_CHECK(cudaMemcpyAsync(on_device.data(), frequency.data(), bytes,
                                   cudaMemcpyHostToDevice, native(r)));
  for_each(r, rows * half,
           Turn{static_cast<const double*>(on_device.data()),
                static_cast<float2*>(table.values.data()), half, s.scaling.magnitude});
  synchronize(r.stream());
  r.rope_tables().push_back(std::move(table));
  return r.rope_tables().back().values.data();
}

}  // namespace pleat::cuda

namespace pleat {
// Rotary positions in place: pair i of a head is columns i and i + dim/2, or 2i and 2i + 1 where
// pairs are interleaved. Bound: memory, the rotated columns read and written.

namespace {

using namespace cuda;

// The two arrangements must round alike.
__device__ __forceinline__ void turn(float& a, float& b, float cosine, float sine) {
  const float first = fmaf(a, cosine, -__fmul_rn(b, sine));
  b = fmaf(b, cosine, __fmul_rn(a, sine));
  a = first;
}

struct RopeRow {
  const float2* table;
  const std::int32_t* positions;  // of every row, or none
  std::int64_t seq, heads, groups, cols, stride, first, half;
  float sign;
};

// Heads that a thread turns by the same angles; all are loaded before the first is used.
template <class T>
constexpr int kHeadsAtOnce = std::is_same_v<T, Bf16Value> ? 4 : 2;

// The heads of group `i % groups` of row `i / groups`: where they begin to turn, how many there
// are, and kAngles of their row of the table, from `pair` on.
template <int kAngles, int kHeads>
struct RopeHeads {
  std::int64_t at;
  int heads;
  float cosine[kAngles], sine[kAngles];
  __device__ __forceinline__ RopeHeads(const RopeRow& r, std::int64_t i, std::int64_t pair) {
    std::int64_t row, group, sequence, place;
    split(i, r.groups, row, group);
    if (r.positions != nullptr) {
      place = r.positions[row];
    } else {
      split(row, r.seq, sequence, place);
    }
    at = row * r.cols + r.first + group * kHeads * r.stride;
    heads = static_cast<int>(min(r.heads - group * kHeads, std::int64_t{kHeads}));
    const float2* const angles = r.table + place * r.half + pair;
    if (r.half % kAngles == 0) {  // two of them are 16 bytes
#pragma unroll
      for (int a = 0; a < kAngles; a += 2) {
        const float4 two = *reinterpret_cast<const float4*>(angles + a);
        cosine[a] = two.x, sine[a] = r.sign * two.y;
        cosine[a + 1] = two.z, sine[a + 1] = r.sign * two.w;
      }
      return;
    }
#pragma unroll
    for (int a = 0; a < kAngles; ++a) {
      const float2 one = pair + a < r.half ? angles[a] : float2{1, 0};
      cosine[a] = one.x, sine[a] = r.sign * one.y;
    }
  }
};

template <class T>
struct TurnHalves {  // columns: pairs
  Vec<T> x;
  RopeRow r;
  __device__ void operator()(std::int64_t i, std::int64_t pair, std::int64_t count) const {
    constexpr int kHeads = kHeadsAtOnce<T>;
    const RopeHeads<kPack, kHeads> h(r, i, pair);
    Packed<T> lows[kHeads], highs[kHeads];
#pragma unroll
    for (int k = 0; k < kHeads; ++k) {
      if (k >= h.heads) break;
      x.fetch(h.at + k * r.stride + pair, count, lows[k]);
      x.fetch(h.at + k * r.stride + pair + r.half, count, highs[k]);
    }
#pragma unroll
    for (int k = 0; k < kHeads; ++k) {
      if (k >= h.heads) break;
      float low[kPack], high[kPack];
      lows[k].unpack(low);
      highs[k].unpack(high);
#pragma unroll
      for (int p = 0; p < kPack; ++p) turn(low[p], high[p], h.cosine[p], h.sine[p]);
      x.store(low, h.at + k * r.stride + pair, count);
      x.store(high, h.at + k * r.stride + pair + r.half, count);
    }
  }
};

template <class T>
struct TurnNeighbours {  // columns: columns
  Vec<T> x;
  RopeRow r;
  __device__ void operator()(std::int64_t i, std::int64_t col, std::int64_t count) const {
    constexpr int kHeads = kHeadsAtOnce<T>;
    const RopeHeads<kPack / 2, kHeads> h(r, i, col / 2);
    Packed<T> packs[kHeads];
#pragma unroll
    for (int k = 0; k < kHeads; ++k) {
      if (k >= h.heads) break;
      x.fetch(h.at + k * r.stride + col, count, packs[k]);
    }
#pragma unroll
    for (int k = 0; k < kHeads; ++k) {
      if (k >= h.heads) break;
      float v[kPack];
      packs[k].unpack(v);
#pragma unroll
      for (int p = 0; p < kPack; p += 2) turn(v[p], v[p + 1], h.cosine[p / 2], h.sine[p / 2]);
      x.store(v, h.at + k * r.stride + col, count);
    }
  }
};

}  // namespace

void CudaKernels::rope(View x, const RopeShape& s, bool inverse) {
  if (x.rows == 0 || s.dim == 0) return;
  PLEAT_ASSERT(s.seq > 0 && s.dim % 2 == 0 && s.offset + s.dim <= s.stride);
  PLEAT_ASSERT((s.first + s.heads) * s.stride <= x.cols);
  Resources& r = *resources_;
  std::int64_t positions = std::min(s.seq, x.rows);
  if (s.positions != nullptr) {
    positions = 1 + *std::max_element(s.positions, s.positions + x.rows);
    PLEAT_ASSERT(*std::min_element(s.positions, s.positions + x.rows) >= 0);
  }
  RopeRow row{.table = static_cast<const float2*>(rope_table(r, s, positions)),
              .positions = nullptr,
              .seq = s.seq,
              .heads = s.heads,
              .groups = 0,
              .cols = x.cols,
              .stride = s.stride,
              .first = s.first * s.stride + s.offset,
              .half = s.dim / 2,
              .sign = inverse ? -1.0f : 1.0f};
  if (s.positions != nullptr) {
    Scratch scratch(r, Scratch::bytes<std::int32_t>(x.rows));
    auto* places = scratch.take<std::int32_t>(x.rows);
    r.device().stage(places, s.positions, static_cast<std::size_t>(x.rows) * sizeof(std::int32_t));
    row.positions = places;
  }
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    row.groups = ceil_div(s.heads, kHeadsAtOnce<T>);
    if (s.interleaved) {
      for_row_packs(r, x.rows * row.groups, s.dim,
                    TurnNeighbours<T>{vec<T>(x, x.cols, s.stride, row.first), row});
    } else {
      for_row_packs(r, x.rows * row.groups, row.half,
                    TurnHalves<T>{vec<T>(x, x.cols, s.stride, row.first, row.half), row});
    }
  }, x);
}

}  // namespace pleat
