// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 and 4 bits bit by bit as core/numerics/small_float.hpp and kernels/cpu/quantize.cpp
// have them, random bits as core/numerics/philox.hpp. Products that something is added to are
// __fmul_rn: a compiler must not fuse what the CPU rounds twice.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/quantized.hpp"

namespace pleat::cuda {

template <pleat::SmallFloat type>
struct CodeTraits;
template <>
struct CodeTraits<pleat::SmallFloat::e4m3> {
  static constexpr std::uint32_t mantissa = 3, least = 127 - 6, largest = 0x7e, nan = 0x7f,
                                 sign = 7;
  static constexpr float largest_value = 448.0f;
};
template <>
struct CodeTraits<pleat::SmallFloat::e5m2> {
  static constexpr std::uint32_t mantissa = 2, least = 127 - 14, largest = 0x7b, nan = 0x7f,
                                 sign = 7;
  static constexpr float largest_value = 57344.0f;
};
template <>
struct CodeTraits<pleat::SmallFloat::e2m1> {
  static constexpr std::uint32_t mantissa = 1, least = 127, largest = 7, nan = 7, sign = 3;
  static constexpr float largest_value = 6.0f;
};

// Rounded to nearest even; what is too large becomes the largest.
template <pleat::SmallFloat type>
__device__ __forceinline__ std::uint32_t encode_nearest(float x) {
  using C = CodeTraits<type>;
  constexpr std::uint32_t dropped = 23 - C::mantissa;
  constexpr std::uint32_t unit = (C::least + dropped) << 23;  // adding it rounds to subnormal steps
  const std::uint32_t bits = __float_as_uint(x), size = bits & 0x7fffffffu;
  const float magnitude = __uint_as_float(size);
  const std::uint32_t up = (1u << (dropped - 1)) - 1 + ((size >> dropped) & 1);
  const std::uint32_t normal = ((size + up) >> dropped) - ((C::least - 1) << C::mantissa);
  const std::uint32_t subnormal = __float_as_uint(magnitude + __uint_as_float(unit)) - unit;
  std::uint32_t code = size < C::least << 23 ? subnormal : normal;
  if (magnitude >= C::largest_value) code = C::largest;
  code |= bits >> 31 << C::sign;
  return size > 0x7f800000u ? C::nan : code;
}

// Two at a time: `low` in the lower byte.
template <pleat::SmallFloat type>
__device__ __forceinline__ std::uint32_t encode_two(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint16_t both;
  if constexpr (type == pleat::SmallFloat::e4m3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
  } else if constexpr (type == pleat::SmallFloat::e5m2) {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
  }
#endif
  return encode_nearest<type>(low) | encode_nearest<type>(high) << 8;
}

// Away from zero where the distance from the neighbour below is more than random / 2^32.
template <pleat::SmallFloat type>
__device__ __forceinline__ std::uint32_t encode_random(float x, std::uint32_t random) {
  using C = CodeTraits<type>;
  constexpr std::uint32_t dropped = 23 - C::mantissa;
  const std::uint32_t bits = __float_as_uint(x), size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return C::nan;
  const std::uint32_t sign = bits >> 31 << C::sign;
  const float magnitude = __uint_as_float(size);
  if (magnitude >= C::largest_value) return sign | C::largest;
  std::uint32_t below;
  float part;
  if (size < C::least << 23) {
    constexpr std::uint32_t steps_in_one = (127 + 127 + C::mantissa - C::least) << 23;
    const float steps = __fmul_rn(magnitude, __uint_as_float(steps_in_one));
    below = static_cast<std::uint32_t>(steps);
    part = steps - static_cast<float>(below);
  } else {
    below = (size >> dropped) - ((C::least - 1) << C::mantissa);
    part = __fmul_rn(static_cast<float>(size & ((1u << dropped) - 1)),
                     __uint_as_float((127 - dropped) << 23));
  }
  const bool up = static_cast<double>(random) < static_cast<double>(part) * 4294967296.0;
  return sign | (below + (up ? 1u : 0u));
}

template <pleat::SmallFloat type>
__device__ __forceinline__ float decode_code(std::uint32_t code) {
  using C = CodeTraits<type>;
  const std::uint32_t size = code & ((1u << C::sign) - 1);
  const float sign = (code >> C::sign & 1) != 0 ? -1.0f : 1.0f;
  if (size > C::largest) {
    return type == pleat::SmallFloat::e5m2 && size == 0x7c ? sign * INFINITY
                                                           : __uint_as_float(0x7fc00000u);
  }
  constexpr std::uint32_t one = 1u << C::mantissa;
  const std::uint32_t exponent = size >> C::mantissa;
  const std::uint32_t digits = size % one + (exponent == 0 ? 0 : one);
  const std::uint32_t power = C::least - C::mantissa + (exponent == 0 ? 0 : exponent - 1);
  return sign * static_cast<float>(digits) * __uint_as_float(power << 23);
}

// f(Constant): the format as a constant of the kernel.
template <pleat::SmallFloat type>
struct Format {
  static constexpr pleat::SmallFloat value = type;
};
template <class F>
void by_format(pleat::SmallFloat type, F f) {
  switch (type) {
    case pleat::SmallFloat::e4m3:
      return f(Format<pleat::SmallFloat::e4m3>{});
    case pleat::SmallFloat::e5m2:
      return f(Format<pleat::SmallFloat::e5m2>{});
    case pleat::SmallFloat::e2m1:
      return f(Format<pleat::SmallFloat::e2m1>{});
  }
}

// The four words of counter {n, n >> 32, 0, 0}.
__device__ __forceinline__ uint4 random_words(std::uint64_t n, std::uint32_t key0,
                                              std::uint32_t key1) {
  std::uint32_t c0 = static_cast<std::uint32_t>(n), c1 = static_cast<std::uint32_t>(n >> 32);
  std::uint32_t c2 = 0, c3 = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * c0, b = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ key0;
    c1 = static_cast<std::uint32_t>(b);
    c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ key1;
    c3 = static_cast<std::uint32_t>(a);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}

// How a block's largest |x| becomes its factors (kernels/cpu/quantize.cpp).
struct ScaleFactors {
  float encode, decode;
};

__device__ __forceinline__ float factor_of(float amax, float most) {
  if (amax == 0 || !(amax <= 3.402823466e38f)) return 1.0f;
  return fminf(most / amax, 3.402823466e38f);
}

__device__ __forceinline__ std::uint32_t encode_e8m0_of(float x) {  // x is no NaN
  const std::uint32_t bits = __float_as_uint(x), exponent = bits >> 23;
  if (bits >= 0x7f800000u) return 254;
  if (bits <= 0x00400000u) return 0;  // 2^-127
  return min(exponent + ((bits & 0x7fffffu) != 0 ? 1u : 0u), 254u);
}

__device__ __forceinline__ float power_of_code(std::uint32_t code) {  // 2^(code - 127)
  return code == 0 ? __uint_as_float(0x00400000u) : __uint_as_float(code << 23);
}

__device__ __forceinline__ ScaleFactors factors_of(float amax, float group, float most,
                                                   ScaleRule rule) {
  switch (rule) {
    case ScaleRule::amax: {
      const float up = factor_of(amax, most);
      return {up, 1.0f / up};
    }
    case ScaleRule::power_of_two: {
      const float up = __uint_as_float(__float_as_uint(factor_of(amax, most)) & 0x7f800000u);
      return {up, 1.0f / up};
    }
    case ScaleRule::e8m0: {
      const std::uint32_t code = encode_e8m0_of(__fmul_rn(amax, 1.0f / most));
      return {power_of_code(254 - code), power_of_code(code)};
    }
    case ScaleRule::nvfp4: {
      const float wanted = __fmul_rn(__fmul_rn(amax, 1.0f / most), group);
      const float scale =
          decode_code<pleat::SmallFloat::e4m3>(encode_nearest<pleat::SmallFloat::e4m3>(wanted));
      return {fminf(group / scale, 3.402823466e38f), scale};
    }
  }
  return {1.0f, 1.0f};
}

}  // namespace pleat::cuda
