// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention sinks, a key of a learned score and no value in each head, and what joins pieces of
// keys: a sink is a piece that came before.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/partial_sums.hpp"
#include "kernels/cuda/reduce.cuh"

namespace pleat {
namespace cuda {
namespace {

struct StartAtSinks {
  Vec<AnyType> sinks;
  float* lse;
  std::int64_t heads;
  __device__ void operator()(std::int64_t i) const { lse[i] = sinks.get(i % heads); }
};

// For a head, chunk c adds up exp(sink - lse) d_o·o over the rows c, c + chunks, c + 2 chunks and
// so on. A warp takes one head of one chunk, which is a "row" of the result.
struct SumSinks {
  Vec<AnyType> d_o, o, sinks;
  const float* lse;
  float* partial;  // [chunks, heads]
  std::int64_t rows, heads, width, chunks;
  __device__ void operator()(std::int64_t part, int lane) const {
    std::int64_t chunk, head;
    split(part, heads, chunk, head);
    const float sink = sinks.get(head);
    float sum = 0;
    for (std::int64_t row = chunk; row < rows; row += chunks) {
      const std::int64_t at = (row * heads + head) * width;
      float dot = 0;
      for (std::int64_t c = lane; c < width; c += kWarp) {
        dot = fmaf(d_o.get(at + c), o.get(at + c), dot);
      }
      sum = fmaf(expf(sink - lse[row * heads + head]), dot, sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) partial[part] = sum;
  }
};

// kLanes neighbours a row and head, kMerged of these at once, all loaded before the first is used.
constexpr int kMerged = 2;

template <class T>
struct MergePieces {
  Vec<T> other, o;
  const float* other_lse;
  float* lse;
  std::int64_t heads, width;  // heads: of all rows
};

template <class T, int kLanes>
__global__ void __launch_bounds__(kThreads) merge_pieces_kernel(MergePieces<T> m) {
  constexpr int kGroups = kThreads / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kMerged * kGroups) +
                             static_cast<int>(threadIdx.x) / kLanes;
  float keep[kMerged], add[kMerged], all[kMerged];
  bool any[kMerged];
#pragma unroll
  for (int k = 0; k < kMerged; ++k) {  // lse of both pieces; their weights below
    const std::int64_t i = first + k * kGroups;
    keep[k] = i < m.heads ? m.lse[i] : -INFINITY;
    add[k] = i < m.heads ? m.other_lse[i] : -INFINITY;
  }
  for (std::int64_t col = lane * kPack; col < m.width; col += kLanes * kPack) {
    Packed<T> mine[kMerged], more[kMerged];
#pragma unroll
    for (int k = 0; k < kMerged; ++k) {
      const std::int64_t i = first + k * kGroups;
      if (i >= m.heads) break;
      m.o.fetch(i * m.width + col, m.width - col, mine[k]);
      m.other.fetch(i * m.width + col, m.width - col, more[k]);
    }
#pragma unroll
    for (int k = 0; k < kMerged; ++k) {
      const std::int64_t i = first + k * kGroups;
      if (col == lane * kPack) {
        const float a = keep[k], b = add[k], most = fmaxf(a, b);
        any[k] = most != -INFINITY;  // else no key in either
        all[k] = most + logf(expf(a - most) + expf(b - most));
        keep[k] = expf(a - all[k]), add[k] = expf(b - all[k]);
      }
      if (i >= m.heads || !any[k]) continue;
      float sum[kPack], added[kPack];
      mine[k].unpack(sum);
      more[k].unpack(added);
#pragma unroll
      for (int c = 0; c < kPack; ++c) sum[c] = fmaf(add[k], added[c], keep[k] * sum[c]);
      m.o.store(sum, i * m.width + col, m.width - col);
    }
  }
  __syncwarp();  // all have read lse
  if (lane != 0) return;
#pragma unroll
  for (int k = 0; k < kMerged; ++k) {
    const std::int64_t i = first + k * kGroups;
    if (i < m.heads && any[k]) m.lse[i] = all[k];
  }
}

template <class T, int kLanes>
void merge(const Resources& r, const MergePieces<T>& m) {
  launch(r, merge_pieces_kernel<T, kLanes>,
         blocks_of(ceil_div(m.heads, kMerged * std::int64_t{kThreads / kLanes})), kThreads, 0, m);
}

}  // namespace

void merge_pieces(const Resources& r, View other, View other_lse, View o, View lse) {
  const std::int64_t n = lse.elements();
  if (n == 0) return;
  PLEAT_ASSERT(other_lse.elements() == n && other.elements() == o.elements());
  PLEAT_ASSERT(o.elements() % n == 0);
  by_type(
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        const std::int64_t width = o.elements() / n;
        const MergePieces<T> m{
            vec<T>(other, width), vec<T>(o, width), other_lse.f32(), lse.f32(), n, width};
        width <= 16 * kPack ? merge<T, 16>(r, m) : merge<T, 32>(r, m);
      },
      other, o);
}

}  // namespace cuda

using namespace cuda;

void CudaKernels::start_at_sinks(View sinks, View o, View lse) {
  const std::int64_t heads = sinks.elements();
  PLEAT_ASSERT(heads > 0 && lse.elements() == o.rows * heads);
  zero(o);
  for_each(*resources_, lse.elements(), StartAtSinks{vec<AnyType>(sinks), lse.f32(), heads});
}

void CudaKernels::sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks) {
  const std::int64_t heads = sinks.elements();
  PLEAT_ASSERT(heads > 0 && dsinks.elements() == heads && lse.elements() == o.rows * heads);
  PLEAT_ASSERT(d_o.rows == o.rows && d_o.cols == o.cols && o.cols % heads == 0);
  if (o.rows == 0) return;
  const std::int64_t warps = std::int64_t{64} * resources_->multiprocessors();
  const std::int64_t chunks = std::clamp<std::int64_t>(warps / heads, 1, o.rows);
  Scratch scratch(*resources_, Scratch::bytes<float>(chunks * heads));
  float* partial = scratch.take<float>(chunks * heads);
  for_rows<kWarp>(*resources_, chunks * heads,
                  SumSinks{vec<AnyType>(d_o), vec<AnyType>(o), vec<AnyType>(sinks), lse.f32(),
                           partial, o.rows, heads, o.cols / heads, chunks});
  add_partial_sums(*resources_, partial, chunks, heads, -1, true, dsinks);
}

}  // namespace pleat
