// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// fp32 main parameters as bf16 weights and 16 more bits (TransformerEngine's
// store_param_remainders): the weight is the number rounded to nearest, halves away from zero, so
// that the first of the 16 bits tells whether it went up. Halves cannot go to even: 65537 numbers
// round to an even weight then, and 16 bits tell 65536 apart.
#pragma once

#include <bit>
#include <cstdint>

#include "core/numerics/small_float.hpp"

namespace pleat {

struct SplitFloat {
  Bf16 weight;
  std::uint16_t rest = 0;
};

[[nodiscard]] constexpr SplitFloat split(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t up = (bits >> 15U) & 1U;
  return {{static_cast<std::uint16_t>((bits >> 16U) + up)}, static_cast<std::uint16_t>(bits)};
}

[[nodiscard]] constexpr float joined(SplitFloat s) {
  const std::uint32_t up = s.rest >> 15U;
  return std::bit_cast<float>(((static_cast<std::uint32_t>(s.weight.bits) - up) << 16U) | s.rest);
}

}  // namespace pleat
