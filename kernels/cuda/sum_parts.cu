// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums over ranks that share a GPU, in their order: the bits of the CPU's. Bound: memory.
#include "kernels/cuda/sum_parts.hpp"

#include "kernels/cuda/for_packs.cuh"

namespace pleat::cuda {
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
