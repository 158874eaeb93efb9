// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Products without the libraries: of any types on CUDA cores, and fp32 with bf16 by two halves.
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/tile_scheduler.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

// Products of any types and strides without tensor cores: tiles of 64x64, 4x4 a thread, 16 deep.
// For fp32 where cuBLASLt cannot or must not be used, and for mixed types.

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

namespace {

constexpr std::int64_t kWorthwhile =
    1 << 22;  // multiplications: below, one launch is faster than three

// Row r of `from` to row r of the two halves, `ld` apart.
struct SplitHalves {
  Vec<float> from;
  Vec<Bf16Value> high, low;
  std::int64_t cols, ld;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float v[kPack], rounded[kPack];
    from.load(row * cols + col, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      rounded[i] = static_cast<float>(static_cast<Bf16Value>(v[i]));
      v[i] -= rounded[i];
    }
    high.store(rounded, row * ld + col, count);
    low.store(v, row * ld + col, count);
  }
};

}  // namespace

bool multiply_mixed(Resources& r, DenseGemm& dense, DenseProblem p, View a, View b, View c) {
  const View whole = a.dtype == DType::fp32 ? a : b, other = a.dtype == DType::fp32 ? b : a;
  if (whole.dtype != DType::fp32 || other.dtype != DType::bf16) return false;
  if (p.m * p.n * p.k < kWorthwhile || !aligned16(whole.data) || whole.cols % kPack != 0)
    return false;
  const View half{whole.data, DType::bf16, whole.rows, whole.cols};
  if (!DenseGemm::fits(half, other, c)) return false;
  const bool left = a.dtype == DType::fp32;
  const std::int64_t n = whole.elements();
  p.inputs = DType::bf16;
  if (c.dtype == DType::fp32) {
    Scratch scratch(r, kGemmWorkspace + 2 * Scratch::bytes<Bf16Value>(n));
    static_cast<void>(scratch.take_bytes(kGemmWorkspace));  // cuBLASLt's
    auto *high = scratch.take<Bf16Value>(n), *low = scratch.take<Bf16Value>(n);
    for_row_packs(r, whole.rows, whole.cols,
                  SplitHalves{{whole.f32(), true}, {high, true}, {low, true}, whole.cols,
                              whole.cols});
    for (const Bf16Value* part : {high, low}) {
      dense.run(p, left ? static_cast<const void*>(part) : a.data,
                left ? b.data : static_cast<const void*>(part), c.data);
      p.accumulate = true;
    }
    return true;
  }
  if (!left || p.transpose_a || p.transpose_b) return false;
  // [high | low] times b on top of b.
  Scratch scratch(r, kGemmWorkspace + Scratch::bytes<Bf16Value>(2 * n) +
                         Scratch::bytes<Bf16Value>(2 * b.elements()));
  static_cast<void>(scratch.take_bytes(kGemmWorkspace));
  auto* halves = scratch.take<Bf16Value>(2 * n);
  auto* twice = scratch.take<Bf16Value>(2 * b.elements());
  for_row_packs(r, a.rows, a.cols,
                SplitHalves{{a.f32(), true}, {halves, true}, {halves + a.cols, true}, a.cols,
                            2 * a.cols});
  const auto bytes = static_cast<std::size_t>(bytes_of(b.dtype, b.elements()));
  for (const std::int64_t place : {std::int64_t{0}, b.elements()}) {
    PLEAT_CUDA_CHECK(
        cudaMemcpyAsync(twice + place, b.data, bytes, cudaMemcpyDeviceToDevice, native(r)));
  }
  p.k *= 2;
  dense.run(p, halves, twice, c.data);
  return true;
}

}  // namespace pleat::cuda
