// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions in Hugging Face's half-split layout: pair i of a head is columns i and i +
// dim/2, turned by position * theta^(-2i/dim). The inverse turns back (the backward pass).
#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kPairs = 128;  // pairs whose angles are held at a time

}  // namespace

void CpuKernels::rope(View x, const RopeShape& s, bool inverse) {
  if (x.rows == 0) return;
  PLEAT_ASSERT(s.seq > 0 && s.dim % 2 == 0 && s.offset + s.dim <= s.stride);
  PLEAT_ASSERT((s.first + s.heads) * s.stride <= x.cols);
  const std::int64_t half = s.dim / 2;
  double frequency[kPairs];
  float cosine[kPairs], sine[kPairs];
  for (std::int64_t begin = 0; begin < half; begin += kPairs) {
    const std::int64_t pairs = std::min(kPairs, half - begin);
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double exponent = 2.0 * static_cast<double>(begin + i) / static_cast<double>(s.dim);
      frequency[i] = std::pow(s.theta, -exponent);
    }
    for (std::int64_t position = 0; position < std::min(s.seq, x.rows); ++position) {
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle = static_cast<double>(position) * frequency[i];
        cosine[i] = static_cast<float>(std::cos(angle));
        sine[i] = static_cast<float>(inverse ? -std::sin(angle) : std::sin(angle));
      }
      for (std::int64_t row = position; row < x.rows; row += s.seq) {
        for (std::int64_t h = s.first; h < s.first + s.heads; ++h) {
          float* low = x.f32() + row * x.cols + h * s.stride + s.offset + begin;
          float* high = low + half;
          for (std::int64_t i = 0; i < pairs; ++i) {
            const float a = low[i], b = high[i];
            low[i] = a * cosine[i] - b * sine[i];
            high[i] = b * cosine[i] + a * sine[i];
          }
        }
      }
    }
  }
}

}  // namespace pleat
