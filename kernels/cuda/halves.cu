// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// fp32 numbers from bf16 weights and 16 bits of rest, and back (kernels/cpu/halves.cpp). Bound:
// memory, 8 bytes an element.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"

namespace pleat {
namespace {

using namespace cuda;

struct Join {
  const std::uint16_t *weights, *rests;
  unsigned* to;
  __device__ void operator()(std::int64_t i) const {
    const unsigned rest = rests[i], up = rest >> 15;
    to[i] = (weights[i] - up) << 16 | rest;
  }
};

struct Split {
  const unsigned* from;
  std::uint16_t *weights, *rests;
  __device__ void operator()(std::int64_t i) const {
    const unsigned bits = from[i], up = bits >> 15 & 1;
    weights[i] = static_cast<std::uint16_t>((bits >> 16) + up);
    rests[i] = static_cast<std::uint16_t>(bits);
  }
};

void require_halves(View weights, View rests, View whole) {
  PLEAT_ASSERT(weights.dtype == DType::bf16 && whole.dtype == DType::fp32);
  PLEAT_ASSERT(weights.elements() == whole.elements() && rests.elements() == whole.elements());
}

}  // namespace

void CudaKernels::join_halves(View weights, View rests, View to) {
  require_halves(weights, rests, to);
  for_each(*resources_, to.elements(),
           Join{static_cast<const std::uint16_t*>(weights.data),
                static_cast<const std::uint16_t*>(rests.data), static_cast<unsigned*>(to.data)});
}

void CudaKernels::split_halves(View from, View weights, View rests) {
  require_halves(weights, rests, from);
  for_each(*resources_, from.elements(),
           Split{static_cast<const unsigned*>(from.data),
                 static_cast<std::uint16_t*>(weights.data),
                 static_cast<std::uint16_t*>(rests.data)});
}

}  // namespace pleat
