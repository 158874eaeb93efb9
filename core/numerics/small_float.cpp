// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/numerics/small_float.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pleat {
namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  std::uint8_t largest;  // code of the largest finite number
};

constexpr Format kE4M3{4, 3, 0x7e}, kE5M2{5, 2, 0x7b}, kE2M1{2, 1, 0x7};

constexpr const Format& format_of(SmallFloat type) {
  switch (type) {
    case SmallFloat::e4m3:
      return kE4M3;
    case SmallFloat::e5m2:
      return kE5M2;
    case SmallFloat::e2m1:
      return kE2M1;
  }
  return kE4M3;
}

constexpr int bias_of(const Format& f) { return (1 << (f.exponent_bits - 1)) - 1; }

constexpr std::uint8_t sign_bit(const Format& f) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(f.exponent_bits + f.mantissa_bits));
}

// Of a code without sign that is finite.
double size_of(const Format& f, unsigned code) {
  const unsigned mantissa = code & ((1U << f.mantissa_bits) - 1U);
  const int exponent = static_cast<int>(code >> f.mantissa_bits);
  const int one = 1 << f.mantissa_bits;
  const int digits = exponent == 0 ? static_cast<int>(mantissa) : one + static_cast<int>(mantissa);
  return std::ldexp(digits, std::max(exponent, 1) - bias_of(f) - f.mantissa_bits);
}

// The code next to `size` towards zero, and how far it is from there to the next one, in [0, 1).
struct Between {
  unsigned below;
  double part;
};

Between neighbours(const Format& f, float size) {
  const int least = 1 - bias_of(f);  // exponent of the smallest normal number
  const int exponent = std::max(size > 0 ? std::ilogb(size) : least, least);
  // In steps of the codes around it: subnormal codes go on as if they had an exponent of 1.
  const double steps = std::ldexp(static_cast<double>(size), f.mantissa_bits - exponent);
  const double whole = std::floor(steps);
  const auto first = static_cast<unsigned>((exponent - least) << f.mantissa_bits);
  return {first + static_cast<unsigned>(whole), steps - whole};
}

template <class Up>
std::uint8_t round_to(SmallFloat type, float x, Up up) {
  const Format& f = format_of(type);
  if (std::isnan(x)) return type == SmallFloat::e2m1 ? f.largest : 0x7f;
  const std::uint8_t sign = std::signbit(x) ? sign_bit(f) : std::uint8_t{0};
  const float size = std::fabs(x);
  if (static_cast<double>(size) >= size_of(f, f.largest)) {
    return static_cast<std::uint8_t>(sign | f.largest);
  }
  const Between b = neighbours(f, size);
  const unsigned code = b.below + (up(b) ? 1U : 0U);
  return static_cast<std::uint8_t>(sign | code);
}

}  // namespace

float largest(SmallFloat type) {
  const Format& f = format_of(type);
  return static_cast<float>(size_of(f, f.largest));
}

float decode(SmallFloat type, std::uint8_t code) {
  const Format& f = format_of(type);
  const std::uint8_t sign = sign_bit(f);
  const unsigned size = code & (sign - 1U);
  float value = 0;
  if (size <= f.largest) {
    value = static_cast<float>(size_of(f, size));
  } else if (type == SmallFloat::e5m2 && size == 0x7c) {
    value = std::numeric_limits<float>::infinity();
  } else {
    value = std::numeric_limits<float>::quiet_NaN();
  }
  return (code & sign) != 0 ? -value : value;
}

std::uint8_t encode(SmallFloat type, float x) {
  return round_to(type, x, [](const Between& b) {
    return b.part > 0.5 || (b.part == 0.5 && b.below % 2 == 1);
  });
}

std::uint8_t encode_stochastic(SmallFloat type, float x, std::uint32_t random) {
  return round_to(type, x, [random](const Between& b) {
    return static_cast<double>(random) < std::ldexp(b.part, 32);
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
