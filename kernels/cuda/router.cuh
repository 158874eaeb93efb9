// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One token a warp: expert i * 32 + lane is value i of a lane, so that a row of logits is read in
// whole lines and stays in registers.
#pragma once

#include <cstdint>

#include "core/diagnostics.hpp"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

inline constexpr std::int64_t kMaxExperts = 4096, kMaxGroups = 256;
inline constexpr float kTiny = 1e-20f;  // added to a sum of sigmoids before dividing by it

// f(std::integral_constant<int, experts a lane>)
template <class F>
void by_experts(std::int64_t experts, F f) {
  PLEAT_ASSERT(experts > 0 && experts <= kMaxExperts);
  if (experts <= 32) {
    f(std::integral_constant<int, 1>{});
  } else if (experts <= 64) {
    f(std::integral_constant<int, 2>{});
  } else if (experts <= 128) {
    f(std::integral_constant<int, 4>{});
  } else if (experts <= 256) {
    f(std::integral_constant<int, 8>{});
  } else if (experts <= 512) {
    f(std::integral_constant<int, 16>{});
  } else {
    f(std::integral_constant<int, 128>{});
  }
}

// Keys in the order of floats; 0 is below every number's.
__device__ __forceinline__ std::uint32_t ordered(float x) {
  const std::uint32_t bits = __float_as_uint(x + 0.0f);  // -0 counts as 0
  return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000u);
}

// A row's logits, its largest and the sum of exp(logit - largest). kFull: of 32 kPerLane experts.
template <int kPerLane, bool kFull = false>
struct RouterRow {
  float logit[kPerLane];
  float max, sum;

  __device__ __forceinline__ void read(const float* row, int lane, int experts) {
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int e = i * kWarp + lane;
      logit[i] = kFull || e < experts ? row[e] : -INFINITY;
    }
  }
  __device__ __forceinline__ void softmax(int lane, int experts) {
    max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) max = fmaxf(max, logit[i]);
    max = warp_max(max);
    sum = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (kFull || i * kWarp + lane < experts) sum += expf(logit[i] - max);
    }
    sum = warp_sum(sum);
  }
};

}  // namespace pleat::cuda
