// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How often each expert was chosen, and the bias that follows it (DeepSeek-V3, arXiv:2412.19437
// section 2.1.2). Counts are whole numbers, so their order is free.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {
namespace {

using namespace cuda;

constexpr std::int64_t kSharedExperts = 8192;  // counted in shared memory first

__global__ void __launch_bounds__(kThreads)
    count_kernel(const std::int32_t* experts, std::int64_t n, int* counts, int groups) {
  auto* const block_counts = dynamic_shared<int>();
  const bool shared = groups <= kSharedExperts;
  if (shared) {
    for (int e = threadIdx.x; e < groups; e += kThreads) block_counts[e] = 0;
    __syncthreads();
  }
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += step) {
    const std::int32_t e = experts[i];
    if (e >= 0 && e < groups) atomicAdd(shared ? block_counts + e : counts + e, 1);
  }
  if (!shared) return;
  __syncthreads();
  for (int e = threadIdx.x; e < groups; e += kThreads) {
    if (block_counts[e] != 0) atomicAdd(counts + e, block_counts[e]);
  }
}

// counts[e] = how often e is there.
void count(const Resources& r, View experts, int* counts, std::int64_t groups) {
  PLEAT_ASSERT(groups <= INT32_MAX);
  r.device().make_current();
  if (groups == 0) return;
  PLEAT_CUDA_CHECK(
      cudaMemsetAsync(counts, 0, static_cast<std::size_t>(groups) * sizeof(int), native(r)));
  const std::int64_t n = experts.elements();
  if (n == 0) return;
  const std::int64_t blocks =
      std::min<std::int64_t>(ceil_div(n, kThreads * 8), std::int64_t{2} * r.multiprocessors());
  const auto shared =
      groups <= kSharedExperts ? static_cast<std::size_t>(groups) * sizeof(int) : std::size_t{0};
  launch(r, count_kernel, blocks_of(blocks), kThreads, shared,
         static_cast<const std::int32_t*>(experts.i32()), n, counts, static_cast<int>(groups));
}

struct AddCounts {
  const int* counts;
  float* load;
  __device__ void operator()(std::int64_t e) const { load[e] += static_cast<float>(counts[e]); }
};

struct PlaceExperts {
  const std::int32_t* experts;
  const std::int32_t* table;
  std::int32_t* slots;
  std::int64_t top_k, columns, first;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t e = experts[i];
    const std::int32_t* row = table + e * columns;
    slots[i] = e < 0 ? -1 : row[1 + (first + i / top_k) % row[0]];
  }
};

// A block a run of experts. Sums of whole numbers: exact in double in any order.
__global__ void __launch_bounds__(kThreads)
    update_bias_kernel(const float* load, float* bias, std::int64_t experts, float step) {
  const float* counts = load + blockIdx.x * experts;
  double sum = 0;
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads)
    sum += static_cast<double>(counts[e]);
  sum = group_sum<kThreads>(sum);
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    const double under = sum - static_cast<double>(experts) * static_cast<double>(counts[e]);
    bias[blockIdx.x * experts + e] += under > 0 ? step : under < 0 ? -step : 0.0f;
  }
}

}  // namespace

void CudaKernels::place_experts(View experts, View table, std::int64_t first, View slots) {
  PLEAT_ASSERT(slots.elements() == experts.elements());
  for_each(*resources_, experts.elements(),
           PlaceExperts{experts.i32(), table.i32(), slots.i32(), experts.cols, table.cols, first});
}

void CudaKernels::expert_counts(View experts, View counts) {
  count(*resources_, experts, counts.i32(), counts.elements());
}

void CudaKernels::count_load(View experts, View load) {
  Scratch scratch(*resources_, Scratch::bytes<int>(load.elements()));
  int* counts = scratch.take<int>(load.elements());
  count(*resources_, experts, counts, load.elements());
  for_each(*resources_, load.elements(), AddCounts{counts, load.f32()});
}

void CudaKernels::update_bias(View load, View bias, std::int64_t experts, double step) {
  PLEAT_ASSERT(load.elements() == bias.elements() && load.elements() % experts == 0);
  if (load.elements() == 0) return;
  launch(*resources_, update_bias_kernel, blocks_of(load.elements() / experts), kThreads, 0,
         static_cast<const float*>(load.f32()), bias.f32(), experts, static_cast<float>(step));
}

}  // namespace pleat
