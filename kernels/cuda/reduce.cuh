// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums and maxima of the threads of a warp or a block, in a fixed order.
#pragma once

#include <cstdint>

namespace pleat::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

template <class T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, distance);
  }
  return value;
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

}  // namespace pleat::cuda
