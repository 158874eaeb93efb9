// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon (Jordan et al. 2024): momentum, Newton-Schulz iterations that take a matrix to the nearest
// orthogonal one, and the step along it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

// The quintic polynomial whose slope at 0 is as steep as convergence allows.
constexpr float kA = 3.4445F, kB = -4.7750F, kC = 2.0315F;
constexpr int kIterations = 5;
constexpr double kLeastNorm = 1e-7;

// y = s y + t x
void combine(View y, float s, View x, float t) {
  float* out = y.f32();
  const float* in = x.f32();
  for (std::int64_t i = 0; i < y.elements(); ++i) out[i] = s * out[i] + t * in[i];
}

}  // namespace

void CpuKernels::muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) {
  const std::int64_t n = g.elements();
  PLEAT_ASSERT(m.elements() == n);
  const auto old = static_cast<float>(beta), rest = static_cast<float>(1 - beta);
  const auto scale = static_cast<float>(grad_scale);
  float *pg = g.f32(), *pm = m.f32();
  for (std::int64_t i = 0; i < n; ++i) {
    const float fresh = rest * (scale * pg[i]);
    pm[i] = old * pm[i] + fresh;
    pg[i] = nesterov ? old * pm[i] + fresh : pm[i];
  }
}

void CpuKernels::newton_schulz(View x, View work) {
  const bool wide = x.rows <= x.cols;
  const std::int64_t side = wide ? x.rows : x.cols, size = x.elements();
  PLEAT_ASSERT(work.elements() >= 2 * size);
  if (size == 0) return;
  const double norm = std::max(std::sqrt(sum_of_squares(x)), kLeastNorm);
  combine(x, 0, x, static_cast<float>(1 / norm));
  View from = x, to{work.f32(), x.dtype, x.rows, x.cols};
  float* const last = work.f32() + size;
  for (int i = 0; i < kIterations; ++i) {
    const View square{to.data, x.dtype, side, side}, poly{last, x.dtype, side, side};
    gemm(from, !wide, from, wide, square, false);
    gemm(square, false, square, false, poly, false);
    combine(poly, kC, square, kB);
    if (wide) {
      gemm(poly, false, from, false, to, false);
    } else {
      gemm(from, false, poly, false, to, false);
    }
    combine(to, 1, from, kA);
    std::swap(from, to);
  }
  if (from.data != x.data) copy(from, x);
}

void CpuKernels::scaled_step(View u, View w, double keep, double rate) {
  PLEAT_ASSERT(u.elements() == w.elements());
  combine(w, static_cast<float>(keep), u, static_cast<float>(-rate));
}

}  // namespace pleat
