// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/permute_map.hpp"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/scan.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kMaxExperts = 12288;  // counters of a warp in 48 KiB of shared memory

// The expert of copy i in counts, or -1.
struct LocalExpert {
  const std::int32_t* experts;
  std::int64_t copies, first;
  int groups;
  __device__ int operator()(std::int64_t i) const {
    if (i >= copies || experts[i] < 0) return -1;
    const std::int64_t e = experts[i] - first;
    return e >= 0 && e < groups ? static_cast<int>(e) : -1;
  }
};

__global__ void count_runs_kernel(LocalExpert expert, PermuteMap m, int warps) {
  auto* const counters = dynamic_shared<int>();
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * warps + warp;
  if (run >= m.runs) return;
  int* const mine = counters + warp * expert.groups;
  for (int e = lane; e < expert.groups; e += kWarp) mine[e] = 0;
  __syncwarp();
  for (std::int64_t i = run * m.run_copies + lane; i < (run + 1) * m.run_copies; i += kWarp) {
    const int e = expert(i);
    if (e >= 0) atomicAdd(mine + e, 1);
  }
  __syncwarp();
  for (int e = lane; e < expert.groups; e += kWarp) m.before[run * expert.groups + e] = mine[e];
}

// A block an expert: counts of runs to sums of the runs before.
__global__ void __launch_bounds__(kThreads) sum_runs_kernel(PermuteMap m, int groups) {
  int* const counts = m.before + blockIdx.x;
  const int all = block_scan<kThreads>(
      m.runs, [=](std::int64_t run) { return counts[run * groups]; },
      [=](std::int64_t run, int sum) { counts[run * groups] = sum; });
  if (threadIdx.x == 0) m.filled[blockIdx.x] = all;
}

__global__ void __launch_bounds__(kScanThreads)
    begin_kernel(const std::int32_t* counts, std::int64_t groups, int* begin) {
  block_scan(
      groups, [=](std::int64_t e) { return counts[e]; },
      [=](std::int64_t e, int sum) { begin[e] = sum; });
}

__global__ void place_kernel(LocalExpert expert, PermuteMap m, std::int32_t* row_map, int warps) {
  auto* const counters = dynamic_shared<int>();
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * warps + warp;
  if (run >= m.runs) return;
  int* const next = counters + warp * expert.groups;
  for (int e = lane; e < expert.groups; e += kWarp) {
    next[e] = m.begin[e] + m.before[run * expert.groups + e];
  }
  __syncwarp();
  for (std::int64_t first = run * m.run_copies; first < (run + 1) * m.run_copies; first += kWarp) {
    const std::int64_t i = first + lane;
    const int e = expert(i);
    const unsigned same = __match_any_sync(kAllLanes, e);
    const int earlier = __popc(same & ((1u << lane) - 1));
    const int row = e < 0 ? -1 : next[e] + earlier;
    __syncwarp();  // all have read the counters
    if (e >= 0 && earlier == 0) next[e] += __popc(same);
    __syncwarp();
    if (i < expert.copies) row_map[i] = row;
  }
}

}  // namespace

PermuteMap PermuteMap::sized(std::int64_t copies) {
  PermuteMap m;
  m.run_copies = copies <= (1 << 20) ? 256 : 1024;
  m.runs = ceil_div(copies, m.run_copies);
  return m;
}

std::size_t PermuteMap::scratch_bytes(std::int64_t experts) const {
  return Scratch::bytes<int>(runs * experts) + 2 * Scratch::bytes<int>(experts);
}

void make_permute_map(const Resources& r, View experts, View counts, std::int64_t first,
                      View row_map, const PermuteMap& m) {
  const std::int64_t groups = counts.elements();
  PLEAT_ASSERT(groups > 0 && groups <= kMaxExperts && experts.elements() <= INT32_MAX);
  const LocalExpert expert{experts.i32(), experts.elements(), first, static_cast<int>(groups)};
  const int warps = static_cast<int>(std::clamp<std::int64_t>(kMaxExperts / groups, 1, 8));
  const std::size_t shared = static_cast<std::size_t>(warps * groups) * sizeof(int);
  if (m.runs > 0) {
    launch(r, count_runs_kernel, blocks_of(ceil_div(m.runs, warps)), warps * kWarp, shared, expert,
           m, warps);
  }
  launch(r, sum_runs_kernel, blocks_of(groups), kThreads, 0, m, static_cast<int>(groups));
  launch(r, begin_kernel, 1, kScanThreads, 0, static_cast<const std::int32_t*>(counts.i32()),
         groups, m.begin);
  if (m.runs > 0) {
    launch(r, place_kernel, blocks_of(ceil_div(m.runs, warps)), warps * kWarp, shared, expert, m,
           row_map.i32(), warps);
  }
}

}  // namespace pleat::cuda
