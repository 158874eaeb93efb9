// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 and 4 bits as codes: E4M3 and E5M2 (Micikevicius et al., arXiv:2209.05433), E2M1 and
// the scale E8M0 (OCP Microscaling Formats, version 1.0). Conversion saturates: what is larger than
// the largest finite number becomes that, infinities too.
#pragma once

#include <cstdint>

namespace pleat {

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
