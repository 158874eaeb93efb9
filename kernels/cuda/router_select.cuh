// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The k experts of the largest keys of a token, a warp each: expert i * 32 + lane is key[i] of a
// lane, 0 is none. In order; equal ones by index.
#pragma once

#include <cstdint>

#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {

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
