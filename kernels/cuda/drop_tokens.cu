// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Each expert keeps its most probable copies: the copies sorted by (expert, probability descending,
// place), then cut off at the capacity.
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/router.cuh"
#include "kernels/cuda/scan.cuh"

namespace pleat {
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
    begin_kernel(int* counts, std::int64_t experts, std::int64_t capacity, int* begin) {
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
  launch(r, begin_kernel, 1, kScanThreads, 0, counts.i32(), groups, capacity, begin);
  for_each(r, n, Keep{sorted, sorted_copies, begin, kept.i32(), capacity});
}

}  // namespace pleat
