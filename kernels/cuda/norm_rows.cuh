// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How rows of a norm are dealt to threads. A row stays in registers from its load to its use, as it
// lies in memory (Packed), and all its loads are issued before the first is used.
#pragma once

#include "core/diagnostics.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/norm.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

// kThreadsARow: neighbours in a warp, or 0, the whole block. Each has kPacksAThread packs of eight
// of kRowsAtOnce rows.
template <int kThreadsARow, int kPacksAThread, int kRowsAtOnce, int kMostThreads>
struct NormConfig {
  static constexpr int row_threads = kThreadsARow, packs = kPacksAThread, at_once = kRowsAtOnce;
  static constexpr int threads = kMostThreads;  // of a block, at most
  static constexpr int groups = kThreadsARow > 0 ? kMostThreads / kThreadsARow : 1;  // of a block
  static constexpr int rows = groups * kRowsAtOnce;  // of a block, at once
};

// f(NormConfig<…>{}, threads of a block) of a row's configuration; of short rows a thread has
// kShortRows at once.
template <int kShortRows, class F>
void by_columns(std::int64_t cols, F f) {
  PLEAT_ASSERT(cols > 0 && cols <= kMaxNormColumns);
  const auto of_block = [&](auto config) {  // no more warps than the row needs
    f(config, static_cast<int>(ceil_div(cols, kPack * decltype(config)::packs * kWarp)) * kWarp);
  };
  if (cols <= 128) {
    f(NormConfig<16, 1, kShortRows, 256>{}, 256);
  } else if (cols <= 256) {
    f(NormConfig<32, 1, kShortRows, 256>{}, 256);
  } else if (cols <= 1024) {
    f(NormConfig<32, 4, 1, 256>{}, 256);
  } else if (cols <= 8192) {
    of_block(NormConfig<0, 4, 1, 256>{});
  } else {
    of_block(NormConfig<0, 4, 1, 1024>{});
  }
}

// Columns [first(p), +8) are pack p of a thread.
template <class Config>
struct RowPacks {
  int cols, lane, threads;
  __device__ __forceinline__ explicit RowPacks(std::int64_t columns)
      : cols(static_cast<int>(columns)),
        lane(static_cast<int>(threadIdx.x)),
        threads(static_cast<int>(blockDim.x)) {
    if constexpr (Config::row_threads > 0) {
      lane %= Config::row_threads;
      threads = Config::row_threads;
    }
  }
  [[nodiscard]] __device__ __forceinline__ int first(int p) const {
    return (p * threads + lane) * kPack;
  }
  [[nodiscard]] __device__ __forceinline__ int count(int p) const {  // values of it that exist
    return max(0, min(kPack, cols - first(p)));
  }
  // Pack p of the row that begins at element `row`; 0 beyond it.
  template <class T>
  __device__ __forceinline__ void fetch(const Vec<T>& from, std::int64_t row, int p,
                                        Packed<T>& to) const {
    from.fetch(row + first(p), count(p), to);
  }
  // All of them.
  template <class T>
  __device__ __forceinline__ void fetch(const Vec<T>& from, std::int64_t row,
                                        Packed<T> (&to)[Config::packs]) const {
    if (from.wide && cols % kPack == 0) {
#pragma unroll
      for (int p = 0; p < Config::packs; ++p) {
        to[p] = {};
        if (first(p) < cols) from.fetch_wide(row + first(p), to[p]);
      }
      return;
    }
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) from.fetch(row + first(p), count(p), to[p]);
  }
};

// Where row `row` lies.
struct NormRowAt {
  std::int64_t x, y, rstd;
  __device__ __forceinline__ NormRowAt(const NormShape& s, int row) {
    const int outer = quotient(row, s.per), inner = row - outer * s.per.value;
    x = at(s.x, outer, inner);
    y = at(s.y, outer, inner);
    rstd = at(s.rstd, outer, inner);
  }

 private:
  [[nodiscard]] static __device__ __forceinline__ std::int64_t at(const RowPlace& place, int outer,
                                                                  int inner) {
    return static_cast<std::int64_t>(outer) * place.ld + (place.first + inner * place.step);
  }
};

// Sums over the threads of a row, to each of them. With a block a row one barrier a sum: the two
// arrays take turns, and who writes one again has passed the barrier after all had read it.
template <class Config>
struct RowSum {
  int turn = 0;
  __device__ __forceinline__ float operator()(float value) {
    if constexpr (Config::row_threads > 0) {
      return lanes_sum<Config::row_threads>(value);
    } else {
      __shared__ float partial[2][Config::threads / kWarp];
      float* const sums = partial[turn];
      turn ^= 1;
      value = warp_sum(value);
      if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = value;
      __syncthreads();
      value = sums[0];
#pragma unroll
      for (int warp = 1; warp < Config::threads / kWarp; ++warp) {
        if (warp * kWarp < static_cast<int>(blockDim.x)) value += sums[warp];
      }
      return value;
    }
  }
};

}  // namespace pleat::cuda
