// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/numerics/small_float.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace pleat {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  std::uint8_t largest;  // code of the largest finite number
  float largest_value;
  [[nodiscard]] constexpr int least() const {  // exponent of the smallest normal number
    return 2 - (1 << (exponent_bits - 1));
  }
};

constexpr Format kFormats[] = {{4, 3, 0x7e, 448}, {5, 2, 0x7b, 57344}, {2, 1, 0x7, 6}};

constexpr const Format& format_of(SmallFloat type) {
  return kFormats[static_cast<std::size_t>(type)];
}

constexpr float power_of_two(int exponent) {  // of a normal number
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23U);
}

constexpr std::uint8_t sign_bit(const Format& f) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(f.exponent_bits + f.mantissa_bits));
}

constexpr float value_of(SmallFloat type, unsigned code) {
  const Format& f = format_of(type);
  const unsigned sign = sign_bit(f), size = code & (sign - 1U);
  float value = std::numeric_limits<float>::quiet_NaN();
  if (size <= f.largest) {
    const unsigned one = 1U << f.mantissa_bits, exponent = size >> f.mantissa_bits;
    const unsigned digits = size % one + (exponent == 0 ? 0 : one);
    const int power =
        f.least() - f.mantissa_bits + (exponent == 0 ? 0 : static_cast<int>(exponent) - 1);
    value = static_cast<float>(digits) * power_of_two(power);
  } else if (type == SmallFloat::e5m2 && size == 0x7c) {
    value = std::numeric_limits<float>::infinity();
  }
  return (code & sign) != 0 ? -value : value;
}

constexpr std::array<float, 256> table_of(SmallFloat type) {
  std::array<float, 256> values{};
  for (unsigned code = 0; code < 256; ++code) values[code] = value_of(type, code);
  return values;
}

constexpr std::array<float, 256> kValues[] = {
    table_of(SmallFloat::e4m3), table_of(SmallFloat::e5m2), table_of(SmallFloat::e2m1)};

// The code next to `size` towards zero, and how far it is from there to the next one, in [0, 1).
struct Between {
  unsigned below;
  float part;
};

// Codes count on from subnormal to normal numbers as those of fp32 do.
Between neighbours(const Format& f, float size) {
  const float least = power_of_two(f.least());
  if (size < least) {
    const float steps = size * power_of_two(f.mantissa_bits - f.least());  // exact
    const auto whole = static_cast<unsigned>(steps);
    return {whole, steps - static_cast<float>(whole)};
  }
  const auto bits = std::bit_cast<std::uint32_t>(size);
  const auto dropped = static_cast<unsigned>(23 - f.mantissa_bits);
  const unsigned first = static_cast<unsigned>(f.least() + 126) << f.mantissa_bits;
  const std::uint32_t rest = bits & ((1U << dropped) - 1U);
  return {(bits >> dropped) - first,
          static_cast<float>(rest) * power_of_two(-static_cast<int>(dropped))};
}

template <class Up>
std::uint8_t round_to(SmallFloat type, float x, Up up) {
  const Format& f = format_of(type);
  if (std::isnan(x)) return type == SmallFloat::e2m1 ? f.largest : 0x7f;
  const std::uint8_t sign = std::signbit(x) ? sign_bit(f) : std::uint8_t{0};
  const float size = std::fabs(x);
  if (size >= f.largest_value) return static_cast<std::uint8_t>(sign | f.largest);
  const Between b = neighbours(f, size);
  const unsigned code = b.below + (up(b) ? 1U : 0U);
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace

float largest(SmallFloat type) { return format_of(type).largest_value; }

float decode(SmallFloat type, std::uint8_t code) {
  return kValues[static_cast<std::size_t>(type)][code];
}

std::uint8_t encode(SmallFloat type, float x) {
  return round_to(type, x, [](const Between& b) {
    return b.part > 0.5F || (b.part == 0.5F && b.below % 2 == 1);
  });
}

std::uint8_t encode_stochastic(SmallFloat type, float x, std::uint32_t random) {
  return round_to(type, x, [random](const Between& b) {
    return static_cast<double>(random) < static_cast<double>(b.part) * 0x1p32;
  });
}

float decode_e8m0(std::uint8_t code) {
  if (code == 255) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, code - 127);
}

std::uint8_t encode_e8m0(float x) {
  if (std::isnan(x)) return 255;
  if (std::isinf(x)) return 254;
  if (!(x > std::ldexp(1.0F, -127))) return 0;
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);  // in [1/2, 1)
  const int power = fraction == 0.5F ? exponent - 1 : exponent;
  return static_cast<std::uint8_t>(std::min(power + 127, 254));
}

}  // namespace pleat
