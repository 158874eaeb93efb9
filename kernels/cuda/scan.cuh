// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums of all earlier elements within a block, over arrays of any length.
#pragma once

#include <cstdint>

#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {

inline constexpr int kScanThreads = 1024;

// The sum of the values of the threads before this one; `all`: of every thread's.
template <int kBlock>
__device__ int block_exclusive_sum(int value, int& all) {
  __shared__ int warps[kBlock / kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int sum = value;
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int before = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += before;
  }
  __syncthreads();  // the sums of a call before this one have been read
  if (lane == kWarp - 1) warps[warp] = sum;
  __syncthreads();
  int earlier = 0;
  all = 0;
  for (int w = 0; w < kBlock / kWarp; ++w) {
    if (w == warp) earlier = all;
    all += warps[w];
  }
  return earlier + sum - value;
}

// store(i, from(0) + … + from(i - 1)) for i < n; returns from(0) + … + from(n - 1).
template <int kBlock = kScanThreads, class From, class Store>
__device__ int block_scan(std::int64_t n, From from, Store store) {
  int carry = 0;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t i = first + threadIdx.x;
    int all;
    const int before = block_exclusive_sum<kBlock>(i < n ? from(i) : 0, all);
    if (i < n) store(i, carry + before);
    carry += all;
  }
  return carry;
}

}  // namespace pleat::cuda
