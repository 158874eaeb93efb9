// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Floating-point types below 32 bits: bfloat16, and numbers of 8 and 4 bits as codes.
#pragma once

#include <bit>
#include <cstdint>

namespace pleat {

// bfloat16: the upper half of an fp32 number.

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

// Numbers of 8 and 4 bits as codes: E4M3 and E5M2 (Micikevicius et al., arXiv:2209.05433), E2M1 and
// the scale E8M0 (OCP Microscaling Formats, version 1.0). Conversion saturates: what is larger than
// the largest finite number becomes that, infinities too.

enum class SmallFloat : std::uint8_t { e4m3, e5m2, e2m1 };

[[nodiscard]] float largest(SmallFloat);  // 448, 57344, 6

// Codes: sign, exponent, mantissa from the top of 8 bits, or of the lower 4.
[[nodiscard]] float decode(SmallFloat, std::uint8_t code);
// Rounded to nearest, ties to even. NaN becomes 0x7f; E2M1 has none: 6 stands for it.
[[nodiscard]] std::uint8_t encode(SmallFloat, float);
// Rounded to one of its neighbours, away from zero with the probability of its distance from the
// other: where `random`, uniform over 32 bits, says so.
[[nodiscard]] std::uint8_t encode_stochastic(SmallFloat, float, std::uint32_t random);

// 2^(code - 127); 255 is NaN.
[[nodiscard]] float decode_e8m0(std::uint8_t code);
// The least power of two that is not below x, which is positive or zero; NaN for NaN, the largest
// power for infinity.
[[nodiscard]] std::uint8_t encode_e8m0(float x);

}  // namespace pleat
