// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that compute every element by itself: one thread a pack of eight.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

// f(at, count) for packs of n elements in a row; count may pass 8.
template <class F>
__global__ void __launch_bounds__(kThreads) for_packs_kernel(std::int64_t n, F f) {
  const std::int64_t at =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kPack;
  if (at < n) f(at, n - at);
}

template <class F>
void for_packs(const Resources& r, std::int64_t n, F f) {
  if (n == 0) return;
  launch(r, for_packs_kernel<F>, blocks_of(ceil_div(n, std::int64_t{kThreads} * kPack)), kThreads,
         0, n, f);
}

// f(row, col, count) for packs of `rows` rows of `cols` elements; count = cols - col.
template <class F>
__global__ void __launch_bounds__(kThreads)
    for_row_packs_kernel(std::int64_t packs, std::int64_t row_packs, std::int64_t cols, F f) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pack >= packs) return;
  std::int64_t row, col;
  split(pack, row_packs, row, col);
  f(row, col * kPack, cols - col * kPack);
}

template <class F>
void for_row_packs(const Resources& r, std::int64_t rows, std::int64_t cols, F f) {
  if (rows == 0 || cols == 0) return;
  const std::int64_t row_packs = ceil_div(cols, kPack), packs = rows * row_packs;
  launch(r, for_row_packs_kernel<F>, blocks_of(ceil_div(packs, kThreads)), kThreads, 0, packs,
         row_packs, cols, f);
}

// f(i) for i < n, one thread each.
template <class F>
__global__ void __launch_bounds__(kThreads) for_each_kernel(std::int64_t n, F f) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) f(i);
}

template <class F>
void for_each(const Resources& r, std::int64_t n, F f) {
  if (n == 0) return;
  launch(r, for_each_kernel<F>, blocks_of(ceil_div(n, kThreads)), kThreads, 0, n, f);
}

// A group of kRowThreads threads a row: f(row, lane), 256 threads a block.
template <int kRowThreads, class F>
__global__ void __launch_bounds__(kThreads) for_rows_kernel(std::int64_t rows, F f) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kRowThreads) +
                           static_cast<int>(threadIdx.x) / kRowThreads;
  if (row < rows) f(row, static_cast<int>(threadIdx.x) % kRowThreads);
}

template <int kRowThreads, class F>
void for_rows(const Resources& r, std::int64_t rows, F f) {
  if (rows == 0) return;
  launch(r, for_rows_kernel<kRowThreads, F>, blocks_of(ceil_div(rows, kThreads / kRowThreads)),
         kThreads, 0, rows, f);
}

}  // namespace pleat::cuda
