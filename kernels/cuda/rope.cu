// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions: the table of cosines and sines, and the rotation.
#include <bit>
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
  std::int64_t seq, heads, cols, stride, first, half;
  float sign;
  // Element where head `i % heads` of row `i / heads` begins to turn; its row of the table.
  __device__ std::int64_t at(std::int64_t i, const float2*& angles) const {
    std::int64_t row, head;
    split(i, heads, row, head);
    angles = table + (positions != nullptr ? positions[row] : row % seq) * half;
    return row * cols + first + head * stride;
  }
};

template <class T>
struct TurnHalves {  // columns: pairs
  Vec<T> x;
  RopeRow r;
  __device__ void operator()(std::int64_t i, std::int64_t pair, std::int64_t count) const {
    const float2* angles;
    const std::int64_t at = r.at(i, angles) + pair;
    float low[kPack], high[kPack];
    x.load(at, count, low);
    x.load(at + r.half, count, high);
#pragma unroll
    for (int p = 0; p < kPack; ++p) {
      if (p >= count) break;
      const float2 angle = angles[pair + p];
      turn(low[p], high[p], angle.x, r.sign * angle.y);
    }
    x.store(low, at, count);
    x.store(high, at + r.half, count);
  }
};

template <class T>
struct TurnNeighbours {  // columns: columns
  Vec<T> x;
  RopeRow r;
  __device__ void operator()(std::int64_t i, std::int64_t col, std::int64_t count) const {
    const float2* angles;
    const std::int64_t at = r.at(i, angles) + col;
    float v[kPack];
    x.load(at, count, v);
#pragma unroll
    for (int p = 0; p < kPack; p += 2) {
      if (p >= count) break;
      const float2 angle = angles[(col + p) / 2];
      turn(v[p], v[p + 1], angle.x, r.sign * angle.y);
    }
    x.store(v, at, count);
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
    if (s.interleaved) {
      for_row_packs(r, x.rows * s.heads, s.dim,
                    TurnNeighbours<T>{vec<T>(x, x.cols, s.stride, row.first), row});
    } else {
      for_row_packs(r, x.rows * s.heads, row.half,
                    TurnHalves<T>{vec<T>(x, x.cols, s.stride, row.first, row.half), row});
    }
  }, x);
}

}  // namespace pleat
