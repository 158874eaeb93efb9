// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dtype.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

struct __nv_bfloat16 {
  std::uint16_t bits;
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float x) {
    const unsigned u = __float_as_uint(x);
    bits = static_cast<std::uint16_t>(x != x ? 0x7fff : (u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  explicit operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) {
  return {__nv_bfloat16(a), __nv_bfloat16(b)};
}
