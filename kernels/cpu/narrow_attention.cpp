// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/narrow_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"

namespace pleat::cpu {
namespace {

constexpr std::int64_t kBlock = 32;  // columns that share a scale of MXFP8

// As quantize.cpp's rules: the largest element becomes the largest code, or the scale is a power of two.
void round_block(float* x, std::int64_t rows, std::int64_t stride, std::int64_t cols,
                 SmallFloat type, bool power_of_two) {
  float amax = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const float size = std::fabs(x[r * stride + c]);
      amax = size > amax ? size : amax;
    }
  }
  float up = 1, down = 1;
  if (power_of_two) {
    const std::uint8_t code = encode_e8m0(amax * (1 / largest(type)));
    up = std::ldexp(1.0F, 127 - code);
    down = decode_e8m0(code);
  } else if (amax > 0 && std::isfinite(amax)) {
    up = std::min(largest(type) / amax, std::numeric_limits<float>::max());
    down = 1 / up;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      float& value = x[r * stride + c];
      value = decode(type, encode(type, value * up)) * down;
    }
  }
}

}  // namespace

void round_heads(const HeadColumns& c, std::int64_t batch, std::int64_t heads, DType math,
                 bool gradient) {
  if (c.width == 0) return;
  PLEAT_ASSERT(c.x.dtype == DType::fp32 && c.x.rows % batch == 0);
  const bool blocks = math == DType::mxfp8;
  const SmallFloat type = gradient && !blocks ? SmallFloat::e5m2 : SmallFloat::e4m3;
  const std::int64_t rows = c.x.rows / batch;
  const std::int64_t groups = c.stride == 0 ? 1 : heads / c.share;  // columns that several heads read
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t g = 0; g < groups; ++g) {
      float* x = c.x.f32() + b * rows * c.x.cols + c.first + g * c.stride;
      if (!blocks) {
        round_block(x, rows, c.x.cols, c.width, type, false);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t col = 0; col < c.width; col += kBlock) {
          round_block(x + r * c.x.cols + col, 1, 0, std::min(kBlock, c.width - col), type, true);
        }
      }
    }
  }
}

}  // namespace pleat::cpu
