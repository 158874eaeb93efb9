// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing by one warp a token: its row of logits, and the selection of the k largest keys.
#pragma once

#include <cstdint>

#include "core/diagnostics.hpp"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// One token a warp: expert i * 32 + lane is value i of a lane, so that a row of logits is read in
// whole lines and stays in registers.

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

// The k experts of the largest keys of a token, a warp each: expert i * 32 + lane is key[i] of a
// lane, 0 is none. In order; equal ones by index.

// A warp's shared memory.
struct RouterWinners {
  int lane_of[kWarp];     // of each rank: a lane, + 32 for its second expert
  int expert[2 * kWarp];  // the lanes' best two
};

// Up to so many there is little chance that three of them fall to one lane.
template <int kPerLane>
inline constexpr int kMostOfTwo = kPerLane <= 2 ? kWarp : 10;

// For k <= 32, without a pass over all keys each round: a lane offers its best key and then its
// second. If no more than k keys reach the last one that was taken, none was missed and no two are
// equal: lane j gets the expert of rank j. Otherwise false: nothing was chosen.
template <int kPerLane>
__device__ __forceinline__ bool choose_of_two(const std::uint32_t (&key)[kPerLane], int lane, int k,
                                              RouterWinners& shared, int& chosen) {
  std::uint32_t first = 0, second = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    second = max(second, min(first, key[i]));
    first = max(first, key[i]);
  }
  std::uint32_t offered = first, next = second, least = 0;
  int place = lane;
#pragma unroll 4
  for (int j = 0; j < k; ++j) {
    least = __reduce_max_sync(kAllLanes, offered);
    if (offered == least) {
      shared.lane_of[j] = place;
      place += kWarp;
      offered = next;
      next = 0;
    }
  }
  int reaching = 0, of_first = 0, of_second = 0;
#pragma unroll
  for (int i = kPerLane - 1; i >= 0; --i) {
    reaching += key[i] >= least ? 1 : 0;
    if (key[i] == first) of_first = i;
    if (key[i] == second) of_second = i;
  }
  if (first == second && second >= least) reaching = kWarp * kPerLane;  // which goes before?
  if (__reduce_add_sync(kAllLanes, reaching) != k || least == 0) return false;
  shared.expert[lane] = of_first * kWarp + lane;
  shared.expert[lane + kWarp] = of_second * kWarp + lane;
  __syncwarp();
  if (lane < k) chosen = shared.expert[shared.lane_of[lane]];
  return true;
}

// Any k: the expert of rank j goes to experts[j], written by lane j % 32.
template <int kPerLane>
__device__ __forceinline__ void choose_of_all(std::uint32_t (&key)[kPerLane], int lane, int k,
                                              std::int32_t* experts) {
  std::uint32_t taken = kAllLanes;
  for (int j = 0; j < k; ++j) {
    std::uint32_t best = 0, index = kAllLanes;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const auto e = static_cast<std::uint32_t>(i * kWarp + lane);
      if (e == taken) key[i] = 0;
      if (key[i] > best) {
        best = key[i];
        index = e;
      }
    }
    const std::uint32_t most = __reduce_max_sync(kAllLanes, best);
    taken = __reduce_min_sync(kAllLanes, best == most ? index : kAllLanes);
    if (lane == j % kWarp) experts[j] = static_cast<std::int32_t>(taken);
  }
}

}  // namespace pleat::cuda
