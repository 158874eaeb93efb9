// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Floats of 8 and 16 bits in a block with a scale, bit by bit as the CPU's (kernels/cpu/moments.cpp).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {

// A float of 1 sign bit, exponent and mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits;
  float largest;  // that blocks are scaled to: no rounding leaves its range
};
inline constexpr SmallFloat kE4M3{4, 3, 448.0F}, kF16{5, 10, 32768.0F};

__device__ __forceinline__ int exponent_of(float x) {
  return static_cast<int>((__float_as_uint(x) >> 23) & 255u) - 127;
}
__device__ __forceinline__ float power_of_two(int e) {
  return __uint_as_float(static_cast<std::uint32_t>(e + 127) << 23);
}

// |x| <= largest. Rounded to nearest even, the smallest numbers to multiples of the smallest one.
__device__ __forceinline__ unsigned encode(float x, SmallFloat t) {
  const unsigned sign = (__float_as_uint(x) >> 31) << (t.exponent_bits + t.mantissa_bits);
  const int lowest = 2 - (1 << (t.exponent_bits - 1));
  const int e = max(exponent_of(x), lowest);
  const auto units = static_cast<unsigned>(rintf(fabsf(x) / power_of_two(e - t.mantissa_bits)));
  // Fewer than `full` units have no leading one, twice as many carry into the exponent by
  // themselves.
  const unsigned full = 1u << t.mantissa_bits;
  return sign | (static_cast<unsigned>(e - lowest) * full + units);
}

__device__ __forceinline__ float decode(unsigned bits, SmallFloat t) {
  const unsigned full = 1u << t.mantissa_bits;
  const unsigned mantissa = bits & (full - 1);
  const int lowest = 2 - (1 << (t.exponent_bits - 1));
  const int exponent = static_cast<int>((bits >> t.mantissa_bits) & ((1u << t.exponent_bits) - 1));
  const float unit = power_of_two((exponent == 0 ? lowest : lowest - 1 + exponent) - t.mantissa_bits);
  const float size = static_cast<float>(exponent == 0 ? mantissa : mantissa + full) * unit;
  return (bits >> (t.exponent_bits + t.mantissa_bits)) != 0 ? -size : size;
}

// The least power of two that brings a block's largest element to at most `largest`.
__device__ __forceinline__ float block_scale(float most, float largest) {
  if (!(most > 0.0f)) return 1.0f;
  int e = min(max(exponent_of(most) - exponent_of(largest) - 1, -120), 110);
  while (e < 110 && largest * power_of_two(e) < most) ++e;
  return power_of_two(e);
}

}  // namespace pleat::cuda
