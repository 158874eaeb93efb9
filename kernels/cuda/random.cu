// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Normal numbers, a thread eight of them. Bound: some 70 operations on doubles a number, which no
// memory waits for.
#include "core/numerics/normal.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"

namespace pleat {
namespace {

using namespace cuda;

struct NormalNumbers {
  Vec<AnyType> out;
  std::uint64_t key, first;
  double deviation;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float v[kPack];
    for (int i = 0; i < kPack; ++i) {
      v[i] = normal_number(key, first + static_cast<std::uint64_t>(at + i), deviation);
    }
    out.store(v, at, count);
  }
};

}  // namespace

void CudaKernels::fill_normal(std::uint64_t key, std::int64_t first, double deviation, View out) {
  for_packs(*resources_, out.elements(),
            NormalNumbers{vec<AnyType>(out), key, static_cast<std::uint64_t>(first), deviation});
}

}  // namespace pleat
