// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How rows of a norm are dealt to threads: a warp a row, or a block a row, with every value of the
// row in registers, kPacks packs of eight a thread.
#pragma once

#include "core/diagnostics.hpp"
#include "kernels/cuda/norm.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

template <int kThreadsARow, int kPacksAThread>
struct NormConfig {
  static constexpr int row_threads = kThreadsARow, packs = kPacksAThread;
  static constexpr int threads = kThreadsARow > 256 ? kThreadsARow : 256;
  static constexpr int rows = threads / kThreadsARow;  // of a block
};

// f(NormConfig<…>{}) of the smallest configuration that holds a row.
template <class F>
void by_columns(std::int64_t cols, F f) {
  PLEAT_ASSERT(cols > 0 && cols <= kMaxNormColumns);
  if (cols <= 256) {
    f(NormConfig<32, 1>{});
  } else if (cols <= 1024) {
    f(NormConfig<32, 4>{});
  } else if (cols <= 2048) {
    f(NormConfig<256, 1>{});
  } else if (cols <= 4096) {
    f(NormConfig<256, 2>{});
  } else if (cols <= 8192) {
    f(NormConfig<256, 4>{});
  } else {
    f(NormConfig<512, 8>{});
  }
}

// Columns [first(p), +8) are pack p of a thread.
template <class Config>
struct RowPacks {
  std::int64_t cols;
  __device__ std::int64_t first(int p) const {
    return (p * Config::row_threads + static_cast<int>(threadIdx.x) % Config::row_threads) *
           static_cast<std::int64_t>(kPack);
  }
  __device__ int count(int p) const {  // values of it that exist
    const std::int64_t left = cols - first(p);
    return left >= kPack ? kPack : left > 0 ? static_cast<int>(left) : 0;
  }
};

}  // namespace pleat::cuda
