// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Counts turned into what a library reads in device memory: a group's sizes, strides and pointers.
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {
namespace {

__global__ void __launch_bounds__(kScanThreads) fill_grouped_kernel(GroupedArrays to, Products p) {
  const bool depth = p.grouping == Products::Grouping::depth;
  if (threadIdx.x == 0) {
    to.factors[0] = 1.0f;
    to.factors[1] = p.accumulate ? 1.0f : 0.0f;
  }
  const std::int64_t width = p.c.dtype == DType::fp32 ? 4 : 2;
  block_scan(
      p.groups, [=](std::int64_t g) { return p.counts[g]; },
      [=](std::int64_t g, int before) {
        const std::int64_t count = p.counts[g], first = before;
        const std::int64_t a = first * (depth ? p.a.col : p.a.row);
        const std::int64_t b = depth ? first * p.b.row : g * p.group_step;
        const std::int64_t c = depth ? g * p.group_step : first * p.c.row;
        to.m[g] = p.n;
        to.n[g] = depth ? p.m : count;
        to.k[g] = depth ? count : p.k;
        to.ld_first[g] = p.b.row == 1 ? p.b.col : p.b.row;
        to.ld_second[g] = p.a.row == 1 ? p.a.col : p.a.row;
        to.ld_result[g] = p.c.row;
        to.first[g] = static_cast<const std::byte*>(p.b.data) + 2 * b;
        to.second[g] = static_cast<const std::byte*>(p.a.data) + 2 * a;
        to.result[g] = static_cast<std::byte*>(p.c.data) + width * c;
        to.alpha[g] = to.factors;
        to.beta[g] = to.factors + 1;
      });
}

// Blocks of a group: a few empty ones keep a GPU busy, those of the others end at once.
constexpr int kClearBlocks = 64;

// Of gradients [groups, group_step], those of experts without tokens become 0.
__global__ void __launch_bounds__(kThreads)
    clear_empty_kernel(const std::int32_t* counts, float* c, std::int64_t group_step) {
  const std::int64_t group = blockIdx.x / kClearBlocks;
  if (counts[group] != 0) return;
  const int block = static_cast<int>(blockIdx.x % kClearBlocks);
  for (std::int64_t i = std::int64_t{block} * kThreads + threadIdx.x; i < group_step;
       i += kClearBlocks * kThreads) {
    c[group * group_step + i] = 0;
  }
}

}  // namespace

void fill_grouped_arrays(const Resources& r, const Products& p, const GroupedArrays& to) {
  launch(r, fill_grouped_kernel, 1, kScanThreads, 0, to, p);
}

void clear_empty_groups(const Resources& r, const Products& p) {
  if (p.group_step == 0) return;
  launch(r, clear_empty_kernel, blocks_of(p.groups * kClearBlocks), kThreads, 0, p.counts,
         static_cast<float*>(p.c.data), p.group_step);
}

}  // namespace pleat::cuda
