// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// bfloat16: the upper half of an fp32 number.
#pragma once

#include <bit>
#include <cstdint>

namespace pleat {

struct Bf16 {
  std::uint16_t bits = 0;
  bool operator==(const Bf16&) const = default;
};

[[nodiscard]] constexpr float to_float(float x) { return x; }
[[nodiscard]] constexpr float to_float(Bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16U);
}

// Rounded to nearest, ties to even; too large becomes infinite, NaN stays a quiet NaN.
[[nodiscard]] constexpr Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t quiet = (bits >> 16U) | 0x40U;
  return {static_cast<std::uint16_t>(x == x ? rounded : quiet)};
}

// fp32 to the type that holds it.
template <class T>
[[nodiscard]] constexpr T rounded_to(float x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return x;
  } else {
    return to_bf16(x);
  }
}

}  // namespace pleat
