// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// RMSNorm of one row of n values: y = x * rstd * w, rstd = 1/sqrt(mean(x²) + eps), and its
// gradient.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cpu/vector_math.hpp"

namespace pleat::cpu {

// Returns rstd.
inline float rms_row(const float* x, const float* w, float* y, std::int64_t n, double eps) {
  const double mean = static_cast<double>(dot(x, x, n)) / static_cast<double>(n);
  const auto rstd = static_cast<float>(1.0 / std::sqrt(mean + eps));
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * rstd * w[i];
  return rstd;
}

// dx = rstd (dy w - x rstd² mean(dy w x)); dw += dy x rstd.
inline void rms_row_bwd(const float* dy, const float* x, const float* w, float rstd, float* dx,
                        float* dw, std::int64_t n) {
  const float sum = lane_sum<float>(n, [=](std::int64_t i) { return dy[i] * w[i] * x[i]; });
  const float mean = sum * rstd * rstd / static_cast<float>(n);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = rstd * (dy[i] * w[i] - x[i] * mean);
  for (std::int64_t i = 0; i < n; ++i) dw[i] += dy[i] * (x[i] * rstd);
}

}  // namespace pleat::cpu
