// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where each token's copies go: the order by experts, and which copies a capacity drops.
#include "kernels/cuda/permute_map.hpp"

#include <cub/device/device_radix_sort.cuh>

#include <bit>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/router.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kMaxMappedExperts = 12288;  // counters of a warp in 48 KiB of shared memory

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
  PLEAT_ASSERT(groups > 0 && groups <= kMaxMappedExperts && experts.elements() <= INT32_MAX);
  const LocalExpert expert{experts.i32(), experts.elements(), first, static_cast<int>(groups)};
  const int warps = static_cast<int>(std::clamp<std::int64_t>(kMaxMappedExperts / groups, 1, 8));
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

namespace pleat {
// Each expert keeps its most probable copies: the copies sorted by (expert, probability descending,
// place), then cut off at the capacity.

namespace {

using namespace cuda;

struct Keys {
  const float* probs;
  const std::int32_t* experts;
  std::uint64_t* keys;
  std::int32_t* copies;
  __device__ void operator()(std::int64_t i) const {
    const float p = probs[i];
    const std::uint32_t descending = ~ordered(isnan(p) ? -1.0f : p);
    keys[i] = static_cast<std::uint64_t>(static_cast<std::uint32_t>(experts[i])) << 32 | descending;
    copies[i] = static_cast<std::int32_t>(i);
  }
};

// begin[e]: the place of an expert's first copy; counts: what is kept.
__global__ void __launch_bounds__(kScanThreads)
    capacity_begin_kernel(int* counts, std::int64_t experts, std::int64_t capacity, int* begin) {
  block_scan(
      experts, [=](std::int64_t e) { return counts[e]; },
      [=](std::int64_t e, int sum) { begin[e] = sum; });
  __syncthreads();
  for (std::int64_t e = threadIdx.x; e < experts; e += kScanThreads) {
    counts[e] = static_cast<int>(min(static_cast<std::int64_t>(counts[e]), capacity));
  }
}

struct Keep {
  const std::uint64_t* keys;  // sorted
  const std::int32_t* copies;
  const int* begin;
  std::int32_t* kept;
  std::int64_t capacity;
  __device__ void operator()(std::int64_t i) const {
    const auto e = static_cast<std::int32_t>(keys[i] >> 32);
    kept[copies[i]] = i - begin[e] < capacity ? e : -1;
  }
};

}  // namespace

void CudaKernels::drop_tokens(View probs, View experts, std::int64_t capacity, View kept,
                              View counts) {
  const std::int64_t n = experts.elements(), groups = counts.elements();
  PLEAT_ASSERT(probs.elements() == n && kept.elements() == n && capacity >= 0 && n <= INT32_MAX);
  expert_counts(experts, counts);
  if (n == 0) return;
  Resources& r = *resources_;
  const int last_bit = 32 + std::bit_width(static_cast<std::uint32_t>(groups));
  std::size_t sort_bytes = 0;
  PLEAT_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      nullptr, sort_bytes, static_cast<std::uint64_t*>(nullptr),
      static_cast<std::uint64_t*>(nullptr), static_cast<std::int32_t*>(nullptr),
      static_cast<std::int32_t*>(nullptr), static_cast<int>(n), 0, last_bit, native(r)));
  Scratch scratch(r, 2 * Scratch::bytes<std::uint64_t>(n) + 2 * Scratch::bytes<std::int32_t>(n) +
                         Scratch::bytes<int>(groups) +
                         Scratch::bytes<std::byte>(static_cast<std::int64_t>(sort_bytes)));
  auto* keys = scratch.take<std::uint64_t>(n);
  auto* sorted = scratch.take<std::uint64_t>(n);
  auto* copies = scratch.take<std::int32_t>(n);
  auto* sorted_copies = scratch.take<std::int32_t>(n);
  int* begin = scratch.take<int>(groups);
  void* temporary = scratch.take<std::byte>(static_cast<std::int64_t>(sort_bytes));
  for_each(r, n, Keys{probs.f32(), experts.i32(), keys, copies});
  PLEAT_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(temporary, sort_bytes, keys, sorted, copies,
                                                   sorted_copies, static_cast<int>(n), 0, last_bit,
                                                   native(r)));
  launch(r, capacity_begin_kernel, 1, kScanThreads, 0, counts.i32(), groups, capacity, begin);
  for_each(r, n, Keep{sorted, sorted_copies, begin, kept.i32(), capacity});
}

}  // namespace pleat
