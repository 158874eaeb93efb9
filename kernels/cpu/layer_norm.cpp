// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// LayerNorm of rows: y = (x - mean) * rstd * scale + shift, rstd = 1/sqrt(var + eps). Its backward
// pass works the mean out again.
#include <cmath>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {
namespace {

float mean_of(const float* x, std::int64_t n) {
  return cpu::lane_sum<float>(n, [=](std::int64_t i) { return x[i]; }) / static_cast<float>(n);
}

}  // namespace

void CpuKernels::layer_norm(View x, View w, View y, View rstd, double eps) {
  const std::int64_t n = x.cols;
  PLEAT_ASSERT(w.elements() == 2 * n && y.elements() == x.elements());
  PLEAT_ASSERT(rstd.elements() == x.rows);
  const float *scale = w.f32(), *shift = scale + n;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* row = x.f32() + r * n;
    float* out = y.f32() + r * n;
    const float mean = mean_of(row, n);
    const float variance = cpu::lane_sum<float>(n, [=](std::int64_t i) {
                             return (row[i] - mean) * (row[i] - mean);
                           }) / static_cast<float>(n);
    const auto s = static_cast<float>(1.0 / std::sqrt(static_cast<double>(variance) + eps));
    rstd.f32()[r] = s;
    for (std::int64_t i = 0; i < n; ++i) out[i] = (row[i] - mean) * s * scale[i] + shift[i];
  }
}

// With z = (x - mean) rstd and g = dy scale: dx = rstd (g - mean(g) - z mean(g z)).
void CpuKernels::layer_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                                View dw) {
  const std::int64_t n = x.cols;
  PLEAT_ASSERT(w.elements() == 2 * n && dw.elements() == 2 * n && dy.elements() == x.elements());
  PLEAT_ASSERT(dx.elements() == x.elements() && rstd.elements() == x.rows);
  PLEAT_ASSERT(dresidual.data == nullptr || dresidual.elements() == x.elements());
  const float* scale = w.f32();
  float *dscale = dw.f32(), *dshift = dscale + n;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float *row = x.f32() + r * n, *d = dy.f32() + r * n;
    float* out = dx.f32() + r * n;
    const float mean = mean_of(row, n), s = rstd.f32()[r], count = static_cast<float>(n);
    const float g = cpu::lane_sum<float>(n, [=](std::int64_t i) { return d[i] * scale[i]; }) / count;
    const float gz = cpu::lane_sum<float>(n, [=](std::int64_t i) {
                       return d[i] * scale[i] * (row[i] - mean) * s;
                     }) / count;
    for (std::int64_t i = 0; i < n; ++i) {
      const float z = (row[i] - mean) * s;
      out[i] = s * (d[i] * scale[i] - g - z * gz);
      dscale[i] += d[i] * z;
      dshift[i] += d[i];
    }
    if (dresidual.data == nullptr) continue;
    const float* more = dresidual.f32() + r * n;
    for (std::int64_t i = 0; i < n; ++i) out[i] += more[i];
  }
}

}  // namespace pleat
