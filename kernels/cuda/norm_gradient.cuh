// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What both kernels of norms' gradients have: their operands, and where a block leaves its sums.
#pragma once

#include "kernels/cuda/norm_rows.cuh"
#include "kernels/cuda/partial_sums.hpp"

namespace pleat::cuda {

template <class T>
struct NormGradient {
  Vec<T> dy, x, w, dresidual, dx;
  const float* rstd;
  float* partial;  // [blocks, cols], or [blocks, 2 cols]
  bool residual;
};

// What the threads of a block have of dw, to the block's row of the partial sums.
template <class Config>
__device__ __forceinline__ void store_partial(float (&dw)[Config::packs][kPack],
                                              const RowPacks<Config>& packs, float* partial) {
  if constexpr (Config::row_threads == 0) {
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) {
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        if (i < packs.count(p)) partial[packs.first(p) + i] = dw[p][i];
      }
    }
  } else {
    constexpr int kWarps = Config::threads / kWarp;
    constexpr int kColumns = Config::row_threads * Config::packs * kPack;
    __shared__ float sums[kWarps][kColumns];
    __syncthreads();  // earlier ones have been read
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) {
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        float sum = dw[p][i];
        if constexpr (Config::row_threads < kWarp) {
          sum += __shfl_xor_sync(kAllLanes, sum, Config::row_threads);
        }
        sums[threadIdx.x / kWarp][packs.first(p) + i] = sum;  // both halves of a warp have it
      }
    }
    __syncthreads();
    for (int c = static_cast<int>(threadIdx.x); c < packs.cols; c += Config::threads) {
      float sum = sums[0][c];
#pragma unroll
      for (int warp = 1; warp < kWarps; ++warp) sum += sums[warp][c];
      partial[c] = sum;
    }
  }
}

// Norms of bf16 rows without a mean, whose packs are aligned: rows pass through shared memory,
// where the next ones arrive while one is computed with. False: of other operands, or of rows that
// are too long for it.
bool norm_backward_staged(Resources&, View dy, View x, View w, View rstd, View dresidual, View dx,
                          View dw, const NormShape&);

}  // namespace pleat::cuda
