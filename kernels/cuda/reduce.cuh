// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Results over the threads of a warp or a block, in a fixed order: sums, maxima, prefix sums.
#pragma once

#include <cstdint>

namespace pleat::cuda {

// Sums and maxima of the threads of a warp or a block, in a fixed order.

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Over kLanes neighbours, a power of two; all lanes of the warp have to call it.
template <int kLanes, class T>
__device__ __forceinline__ T lanes_sum(T value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
}

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
  return lanes_sum<kWarp>(value);
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

// The sum over a group of kThreads threads, to each of them: a warp, or the whole block.
template <int kThreads, class T>
__device__ __forceinline__ T group_sum(T value) {
  value = warp_sum(value);
  if constexpr (kThreads > kWarp) {
    __shared__ T partial[kThreads / kWarp];
    __syncthreads();  // a sum before this one has been read
    if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = partial[0];
#pragma unroll
    for (int warp = 1; warp < kThreads / kWarp; ++warp) value += partial[warp];
  }
  return value;
}

// The largest value and the sum of exp(x - max) of what a thread has seen.
struct MaxSum {
  float max, sum;
};
__device__ __forceinline__ MaxSum merge(MaxSum a, MaxSum b) {
  const float max = fmaxf(a.max, b.max);
  if (max == -INFINITY) return {max, a.sum + b.sum};  // nothing seen, or NaN alone
  return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

template <int kThreads>
__device__ __forceinline__ MaxSum group_merge(MaxSum value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const MaxSum other{__shfl_xor_sync(kAllLanes, value.max, distance),
                       __shfl_xor_sync(kAllLanes, value.sum, distance)};
    // The lower lane's value first, so that both sides round alike.
    value = (threadIdx.x & distance) == 0 ? merge(value, other) : merge(other, value);
  }
  if constexpr (kThreads > kWarp) {
    __shared__ MaxSum partial[kThreads / kWarp];
    __syncthreads();
    if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = partial[0];
    for (int warp = 1; warp < kThreads / kWarp; ++warp) value = merge(value, partial[warp]);
  }
  return value;
}

// Sums of all earlier elements within a block, over arrays of any length.

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
