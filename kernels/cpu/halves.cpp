// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Main parameters of which the weights are one half: rounded to nearest, halves away from zero, so that
// the first of the other 16 bits tells whether the weight went up.
#include <bit>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {

void CpuKernels::join_halves(View weights, View rests, View to) {
  PLEAT_ASSERT(weights.dtype == DType::bf16 && to.dtype == DType::fp32);
  PLEAT_ASSERT(weights.elements() == to.elements() && rests.elements() == to.elements());
  const auto* w = static_cast<const Bf16*>(weights.data);
  const auto* r = static_cast<const std::uint16_t*>(rests.data);
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const std::uint32_t up = r[i] >> 15U;
    to.f32()[i] = std::bit_cast<float>(((std::uint32_t{w[i].bits} - up) << 16U) | r[i]);
  }
}

void CpuKernels::split_halves(View from, View weights, View rests) {
  PLEAT_ASSERT(weights.dtype == DType::bf16 && from.dtype == DType::fp32);
  PLEAT_ASSERT(weights.elements() == from.elements() && rests.elements() == from.elements());
  auto* w = static_cast<Bf16*>(weights.data);
  auto* r = static_cast<std::uint16_t*>(rests.data);
  for (std::int64_t i = 0; i < from.elements(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from.f32()[i]);
    w[i] = {static_cast<std::uint16_t>((bits >> 16U) + ((bits >> 15U) & 1U))};
    r[i] = static_cast<std::uint16_t>(bits);
  }
}

}  // namespace pleat
