// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products of any types and strides without tensor cores: tiles of 64x64, 4x4 a thread, 16 deep. For
// fp32 where cuBLASLt cannot or must not be used, and for mixed types.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/tile_scheduler.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {
namespace {

constexpr int kTile = 64, kDepth = 16, kPerThread = 4, kPad = 4;

struct AnyProducts {
  Products p;
  Vec<AnyType> a, b, c;
};

// Element (i, j) of 64 x 16 of an operand, as out[j][i]. Neighbouring threads read neighbouring
// memory whichever stride is 1.
__device__ void load_tile(const Vec<AnyType>& from, std::int64_t offset, std::int64_t row,
                          std::int64_t col, std::int64_t rows, std::int64_t cols,
                          float (&out)[kDepth][kTile + kPad]) {
  for (int index = threadIdx.x; index < kTile * kDepth; index += kThreads) {
    const int i = col == 1 ? index / kDepth : index % kTile;
    const int j = col == 1 ? index % kDepth : index / kTile;
    out[j][i] = i < rows && j < cols ? from.get(offset + i * row + j * col) : 0.0f;
  }
}

__global__ void __launch_bounds__(kThreads) products_any_kernel(AnyProducts all) {
  auto* const schedule = dynamic_shared<std::int64_t>();
  __shared__ __align__(16) float a[kDepth][kTile + kPad];
  __shared__ __align__(16) float b[kDepth][kTile + kPad];
  const Products& p = all.p;
  const TileScheduler scheduler(p, kTile, kTile, schedule);
  const int row = threadIdx.x / (kTile / kPerThread) * kPerThread;
  const int col = threadIdx.x % (kTile / kPerThread) * kPerThread;
  for (std::int64_t index = blockIdx.x; index < scheduler.tiles(); index += gridDim.x) {
    const Tile t = scheduler.tile(index);
    const GroupOperands g(p, t);
    float sum[kPerThread][kPerThread] = {};
    for (std::int64_t k = 0; k < g.k; k += kDepth) {
      __syncthreads();  // the tiles before have been used
      load_tile(all.a, g.a + t.m * p.a.row + k * p.a.col, p.a.row, p.a.col, g.m - t.m, g.k - k, a);
      load_tile(all.b, g.b + t.n * p.b.col + k * p.b.row, p.b.col, p.b.row, g.n - t.n, g.k - k, b);
      __syncthreads();
#pragma unroll
      for (int j = 0; j < kDepth; ++j) {
        const float4 x = *reinterpret_cast<const float4*>(&a[j][row]);
        const float4 y = *reinterpret_cast<const float4*>(&b[j][col]);
        const float left[4] = {x.x, x.y, x.z, x.w}, right[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
        for (int r = 0; r < kPerThread; ++r) {
#pragma unroll
          for (int c = 0; c < kPerThread; ++c) sum[r][c] = fmaf(left[r], right[c], sum[r][c]);
        }
      }
    }
    for (int r = 0; r < kPerThread && t.m + row + r < g.m; ++r) {
      for (int c = 0; c < kPerThread && t.n + col + c < g.n; ++c) {
        const std::int64_t at = g.c + (t.m + row + r) * p.c.row + (t.n + col + c) * p.c.col;
        all.c.set(at, (p.accumulate ? all.c.get(at) : 0.0f) + sum[r][c]);
      }
    }
  }
}

Vec<AnyType> any(const Strided& s) {
  PLEAT_ASSERT(s.dtype == DType::fp32 || s.dtype == DType::bf16);
  return {s.data, false, s.dtype == DType::bf16};
}

}  // namespace

void multiply_any(const Resources& r, const Products& p) {
  if (p.n == 0 || p.m == 0) return;
  const std::int64_t tiles =
      (ceil_div(p.m, kTile) + p.groups) * ceil_div(p.n, kTile) *
      (p.grouping == Products::Grouping::depth ? p.groups : 1);  // at most
  const std::int64_t blocks = std::min<std::int64_t>(tiles, std::int64_t{8} * r.multiprocessors());
  launch(r, products_any_kernel, blocks_of(blocks), kThreads,
         TileScheduler::shared_bytes(p.groups), AnyProducts{p, any(p.a), any(p.b), any(p.c)});
}

}  // namespace pleat::cuda
