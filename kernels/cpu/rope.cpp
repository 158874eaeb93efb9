// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions: pair i of a head, turned by position * rope_frequency(i), is columns i and
// i + dim/2, or 2i and 2i + 1 where pairs are interleaved. The inverse turns back (the backward
// pass).
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
  const std::int64_t half = s.dim / 2, step = s.interleaved ? 2 : 1;
  double frequency[kPairs];
  float cosine[kPairs], sine[kPairs];
  for (std::int64_t begin = 0; begin < half; begin += kPairs) {
    const std::int64_t pairs = std::min(kPairs, half - begin);
    for (std::int64_t i = 0; i < pairs; ++i) {
      frequency[i] = rope_frequency(s.scaling, s.theta, s.dim, begin + i);
    }
    const std::int64_t turns = s.positions != nullptr ? x.rows : std::min(s.seq, x.rows);
    const std::int64_t period = s.positions != nullptr ? x.rows : s.seq;  // rows of the same angles
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      const std::int64_t position = s.positions != nullptr ? s.positions[turn] : turn;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle = static_cast<double>(position) * frequency[i];
        const double magnitude = s.scaling.magnitude;
        cosine[i] = static_cast<float>(magnitude * std::cos(angle));
        sine[i] = static_cast<float>(magnitude * (inverse ? -std::sin(angle) : std::sin(angle)));
      }
      for (std::int64_t row = turn; row < x.rows; row += period) {
        for (std::int64_t h = s.first; h < s.first + s.heads; ++h) {
          float* head = x.f32() + row * x.cols + h * s.stride + s.offset;
          float* low = head + begin * step;
          float* high = low + (s.interleaved ? 1 : half);
          for (std::int64_t i = 0; i < pairs; ++i) {
            const float a = low[i * step], b = high[i * step];
            low[i * step] = a * cosine[i] - b * sine[i];
            high[i * step] = b * cosine[i] + a * sine[i];
          }
        }
      }
    }
  }
}

}  // namespace pleat
