// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// bf16 products on tensor cores through wmma: tiles of 128x128, 32 deep, three stages of cp.async,
// eight warps of 64x32. The fallback where CUTLASS's headers were not there at build time.
#include <cuda_pipeline.h>
#include <mma.h>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/products.hpp"
#include "kernels/cuda/tile_scheduler.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {
namespace {

namespace wmma = nvcuda::wmma;

constexpr int kTile = 128, kDepth = 32, kStages = 3, kPad = 8;
constexpr int kStageElements = kTile * (kDepth + kPad);  // also holds [kDepth][kTile + kPad]
constexpr int kFragment = 16, kStagePad = 4;
static_assert(kDepth * (kTile + kPad) <= kStageElements);

// A tile of op(X): `outer` is M or N, `inner` K. kInnerContiguous: memory has K side by side, and
// so has shared memory, [kTile][kDepth + kPad]; else [kDepth][kTile + kPad].
template <bool kInnerContiguous>
struct OperandTile {
  static constexpr int lines = kInnerContiguous ? kTile : kDepth;
  static constexpr int line = kInnerContiguous ? kDepth : kTile;  // elements of a line
  static constexpr int ld = line + kPad;

  // Lines from `from`, `stride` apart; lines and elements that do not exist become 0.
  static __device__ void load(const Bf16Value* from, std::int64_t stride, std::int64_t have_lines,
                              std::int64_t have, Bf16Value* to) {
    constexpr int kVectors = line / kPack;
#pragma unroll
    for (int index = threadIdx.x; index < lines * kVectors; index += kThreads) {
      const int i = index / kVectors, j = index % kVectors * kPack;
      const bool there = i < have_lines && j < have;
      __pipeline_memcpy_async(to + i * ld + j, from + (there ? i * stride + j : 0), 16,
                              there ? 0 : 16);
    }
  }
};

template <bool kAContiguous, bool kBContiguous>
__global__ void __launch_bounds__(kThreads, 2)
    products_bf16_kernel(Products p, const float* factors) {
  auto* const shared = dynamic_shared<std::byte>();
  auto* const a_tiles = reinterpret_cast<Bf16Value*>(shared);
  Bf16Value* const b_tiles = a_tiles + kStages * kStageElements;
  auto* const staging = reinterpret_cast<float*>(b_tiles + kStages * kStageElements);
  void* const schedule = staging + kThreads / kWarp * kFragment * (kFragment + kStagePad);
  using A = OperandTile<kAContiguous>;
  using B = OperandTile<kBContiguous>;
  using ALayout = std::conditional_t<kAContiguous, wmma::row_major, wmma::col_major>;
  using BLayout = std::conditional_t<kBContiguous, wmma::col_major, wmma::row_major>;
  const TileScheduler scheduler(p, kTile, kTile, schedule);
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int warp_m = warp / 4 * 64, warp_n = warp % 4 * 32;
  const auto* const all_a = static_cast<const Bf16Value*>(p.a.data);
  const auto* const all_b = static_cast<const Bf16Value*>(p.b.data);
  const std::int64_t a_stride = kAContiguous ? p.a.row : p.a.col;
  const std::int64_t b_stride = kBContiguous ? p.b.col : p.b.row;

  for (std::int64_t index = blockIdx.x; index < scheduler.tiles(); index += gridDim.x) {
    const Tile t = scheduler.tile(index);
    const GroupOperands g(p, t);
    const Bf16Value* const a = all_a + g.a + t.m * p.a.row;
    const Bf16Value* const b = all_b + g.b + t.n * p.b.col;
    const std::int64_t steps = (g.k + kDepth - 1) / kDepth;
    const auto load = [&](std::int64_t step) {
      if (step < steps) {
        const std::int64_t k = step * kDepth, left = g.k - k;
        const auto stage = static_cast<int>(step % kStages) * kStageElements;
        A::load(a + k * p.a.col, a_stride, kAContiguous ? g.m - t.m : left,
                kAContiguous ? left : g.m - t.m, a_tiles + stage);
        B::load(b + k * p.b.row, b_stride, kBContiguous ? g.n - t.n : left,
                kBContiguous ? left : g.n - t.n, b_tiles + stage);
      }
      __pipeline_commit();
    };
    wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float> sum[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    }
    __syncthreads();  // the tile before has been read
    for (int s = 0; s < kStages - 1; ++s) load(s);
    for (std::int64_t step = 0; step < steps; ++step) {
      __pipeline_wait_prior(kStages - 2);
      __syncthreads();  // this step has arrived for all, and the one before has been read by all
      load(step + kStages - 1);
      const auto stage = static_cast<int>(step % kStages) * kStageElements;
#pragma unroll
      for (int k = 0; k < kDepth; k += kFragment) {
        wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, Bf16Value, BLayout> y[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const int n = warp_n + j * kFragment;
          wmma::load_matrix_sync(
              y[j], b_tiles + stage + (kBContiguous ? n * B::ld + k : k * B::ld + n), B::ld);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // one fragment of A at a time: two blocks share an SM
          wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, Bf16Value, ALayout> x;
          const int m = warp_m + i * kFragment;
          wmma::load_matrix_sync(
              x, a_tiles + stage + (kAContiguous ? m * A::ld + k : k * A::ld + m), A::ld);
#pragma unroll
          for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], x, y[j], sum[i][j]);
        }
      }
    }
    __pipeline_wait_prior(0);
    const float factor = factors == nullptr ? 1.0f : factors[t.group];
    float* const mine = staging + warp * kFragment * (kFragment + kStagePad);
    const Vec<AnyType> c{p.c.data, false, p.c.dtype == DType::bf16};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        wmma::store_matrix_sync(mine, sum[i][j], kFragment + kStagePad, wmma::mem_row_major);
        __syncwarp();
#pragma unroll
        for (int e = lane; e < kFragment * kFragment; e += kWarp) {
          const std::int64_t m = t.m + warp_m + i * kFragment + e / kFragment;
          const std::int64_t n = t.n + warp_n + j * kFragment + e % kFragment;
          if (m >= g.m || n >= g.n) continue;
          const std::int64_t at = g.c + m * p.c.row + n;
          const float value = mine[e / kFragment * (kFragment + kStagePad) + e % kFragment];
          c.set(at, (p.accumulate ? c.get(at) : 0.0f) + __fmul_rn(value, factor));
        }
        __syncwarp();
      }
    }
  }
}

// 16-byte loads: one stride is 1, and everything else is a multiple of eight elements.
bool fits(const Strided& s, std::int64_t group_step, std::int64_t contiguous) {
  const std::int64_t other = s.col == 1 ? s.row : s.col;
  return s.dtype == DType::bf16 && (s.col == 1 || s.row == 1) && aligned16(s.data) &&
         other % kPack == 0 && group_step % kPack == 0 && contiguous % kPack == 0;
}

}  // namespace

bool multiply_bf16(const Resources& r, const Products& p) {
  return multiply_bf16_scaled(r, p, nullptr);
}

bool multiply_bf16_scaled(const Resources& r, const Products& p, const float* factors) {
  if (p.n == 0 || p.m == 0) return true;
  const bool depth = p.grouping == Products::Grouping::depth;
  const bool a_contiguous = p.a.col == 1, b_contiguous = p.b.row == 1;
  if (depth && (a_contiguous || b_contiguous)) return false;  // groups begin anywhere
  if (!fits(p.a, 0, a_contiguous ? p.k : p.m) ||
      !fits(p.b, depth ? 0 : p.group_step, b_contiguous ? p.k : p.n) || p.c.col != 1) {
    return false;
  }
  if (!a_contiguous && p.grouping == Products::Grouping::rows) return false;
  const std::int64_t tiles = (ceil_div(p.m, kTile) + p.groups) * ceil_div(p.n, kTile) *
                             (depth ? p.groups : 1);  // at most
  const std::int64_t blocks = std::min<std::int64_t>(tiles, std::int64_t{2} * r.multiprocessors());
  const std::size_t shared =
      2 * kStages * kStageElements * sizeof(Bf16Value) +
      kThreads / kWarp * kFragment * (kFragment + kStagePad) * sizeof(float) +
      TileScheduler::shared_bytes(p.groups);
  const auto run = [&](auto kernel) {
    launch(r, kernel, blocks_of(blocks), kThreads, shared, p, factors);
  };
  if (a_contiguous && b_contiguous) {
    run(products_bf16_kernel<true, true>);
  } else if (a_contiguous) {
    run(products_bf16_kernel<true, false>);
  } else if (b_contiguous) {
    run(products_bf16_kernel<false, true>);
  } else {
    run(products_bf16_kernel<false, false>);
  }
  return true;
}

}  // namespace pleat::cuda
