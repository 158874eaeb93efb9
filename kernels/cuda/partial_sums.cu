// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/partial_sums.hpp"

#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {
namespace {

constexpr int kColumns = 32, kSlices = 32;

// A block has 32 columns. Slice s adds up the partial sums s, s + 32, s + 64 and so on; then the
// slices are added up. Many slices, for a norm of heads has 128 columns, four blocks, and as many
// partial sums as there are blocks in its wave.
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

// Sums over ranks that share a GPU, in their order: the bits of the CPU's. Bound: memory.

namespace {

template <class T>
struct SumParts {
  T* parts[kMaxParts];
  int count;
  bool wide;
  T* to;
  __device__ void operator()(std::int64_t at, std::int64_t left) const {
    float sum[kPack], more[kPack];
    Vec<T>{parts[0], wide}.load(at, left, sum);
    for (int p = 1; p < count; ++p) {
      Vec<T>{parts[p], wide}.load(at, left, more);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += more[i];
    }
    Vec<T>{to, wide}.store(sum, at, left);
  }
};

template <class T>
void sum(const Resources& r, std::span<const View> parts, View to) {
  SumParts<T> f{{}, static_cast<int>(parts.size()), aligned16(to.data), static_cast<T*>(to.data)};
  for (std::size_t p = 0; p < parts.size(); ++p) {
    PLEAT_ASSERT(parts[p].dtype == to.dtype && parts[p].elements() == to.elements());
    f.parts[p] = static_cast<T*>(parts[p].data);
    f.wide = f.wide && aligned16(parts[p].data);
  }
  for_packs(r, to.elements(), f);
}

}  // namespace

void sum_parts(const Resources& r, std::span<const View> parts, View to) {
  PLEAT_ASSERT(!parts.empty() && parts.size() <= kMaxParts);
  PLEAT_ASSERT(to.dtype == DType::fp32 || to.dtype == DType::bf16);
  to.dtype == DType::bf16 ? sum<Bf16Value>(r, parts, to) : sum<float>(r, parts, to);
}

}  // namespace pleat::cuda
