// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/partial_sums.hpp"

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {
namespace {

constexpr int kColumns = 32, kSlices = 8;

// 32 columns a block; slice s adds up the partial sums s, s + 8, …, then the slices are added up.
__global__ void __launch_bounds__(kColumns* kSlices)
    partial_sums_kernel(const float* partial, std::int64_t count, std::int64_t stride, float scale,
                        bool add, Vec<AnyType> to, std::int64_t columns) {
  __shared__ float slices[kSlices][kColumns];
  const int lane = threadIdx.x % kColumns, slice = threadIdx.x / kColumns;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kColumns + lane;
  float sum = 0;
  if (c < columns) {
#pragma unroll 4
    for (std::int64_t i = slice; i < count; i += kSlices) sum += partial[i * stride + c];
  }
  slices[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || c >= columns) return;
  for (int s = 1; s < kSlices; ++s) sum += slices[s][lane];
  to.set(c, (add ? to.get(c) : 0.0f) + scale * sum);
}

}  // namespace

void add_partial_sums(const Resources& r, const float* partial, std::int64_t count,
                      std::int64_t stride, double scale, bool add, View to) {
  const std::int64_t columns = to.elements();
  if (columns == 0) return;
  launch(r, partial_sums_kernel, blocks_of(ceil_div(columns, kColumns)), kColumns * kSlices, 0,
         partial, count, stride, static_cast<float>(scale), add, vec<AnyType>(to), columns);
}

}  // namespace pleat::cuda
