// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms on the CPU: RMSNorm of rows, of their first columns and of heads, and LayerNorm.
#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

// RMSNorm of whole rows, and of the first columns of wider rows (MLA's kv latent).

void CpuKernels::rms_norm(View x, View w, View y, View rstd, double eps) {
  PLEAT_ASSERT(w.elements() == x.cols);
  slice_norm(x, w, y, rstd, eps);
}

void CpuKernels::rms_norm_bwd(View dy, View x, View w, View rstd, View dresidual, View dx,
                              View dw) {
  PLEAT_ASSERT(w.elements() == x.cols);
  slice_norm_bwd(dy, x, w, rstd, dx, dw);
  if (dresidual.data == nullptr) return;
  PLEAT_ASSERT(dresidual.elements() == dx.elements());
  const float* from = dresidual.f32();
  float* to = dx.f32();
  for (std::int64_t i = 0; i < dx.elements(); ++i) to[i] += from[i];
}

void CpuKernels::slice_norm(View x, View w, View y, View rstd, double eps) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(n <= x.cols && y.cols == n && y.rows == x.rows && rstd.elements() == x.rows);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    rstd.f32()[r] = cpu::rms_row(x.f32() + r * x.cols, w.f32(), y.f32() + r * n, n, eps);
  }
}

void CpuKernels::slice_norm_bwd(View dy, View x, View w, View rstd, View dx, View dw) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(n <= x.cols && dy.cols == n && dy.rows == x.rows && rstd.elements() == x.rows);
  PLEAT_ASSERT(dx.rows == x.rows && dx.cols == x.cols && dw.elements() == n);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    cpu::rms_row_bwd(dy.f32() + r * n, x.f32() + r * x.cols, w.f32(), rstd.f32()[r],
                     dx.f32() + r * dx.cols, dw.f32(), n);
  }
}

// RMSNorm over each head of packed qkv rows [(n+2g)d]: q heads with wq, k heads with wk, v copied.

namespace {

void check(View x, View wq, View wk, View y, View rstd, const AttentionShape& s) {
  PLEAT_ASSERT(x.cols == s.columns());
  PLEAT_ASSERT(y.rows == x.rows && y.cols == x.cols);
  PLEAT_ASSERT(wq.elements() == s.head_dim && wk.elements() == s.head_dim);
  PLEAT_ASSERT(rstd.elements() == x.rows * (s.heads + s.kv_groups));
}

}  // namespace

void CpuKernels::head_norm(View x, View wq, View wk, View y, View rstd, const AttentionShape& s,
                           double eps) {
  check(x, wq, wk, y, rstd, s);
  const std::int64_t normed = s.heads + s.kv_groups, d = s.head_dim;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float* from = x.f32() + r * x.cols;
    float* to = y.f32() + r * x.cols;
    for (std::int64_t h = 0; h < normed; ++h) {
      const float* w = h < s.heads ? wq.f32() : wk.f32();
      rstd.f32()[r * normed + h] = cpu::rms_row(from + h * d, w, to + h * d, d, eps);
    }
    std::copy(from + normed * d, from + x.cols, to + normed * d);
  }
}

void CpuKernels::head_norm_bwd(View dy, View x, View wq, View wk, View rstd, View dx, View dwq,
                               View dwk, const AttentionShape& s) {
  check(x, wq, wk, dx, rstd, s);
  PLEAT_ASSERT(dy.rows == x.rows && dy.cols == x.cols);
  PLEAT_ASSERT(dwq.elements() == s.head_dim && dwk.elements() == s.head_dim);
  const std::int64_t normed = s.heads + s.kv_groups, d = s.head_dim;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const std::int64_t row = r * x.cols;
    for (std::int64_t h = 0; h < normed; ++h) {
      const bool q = h < s.heads;
      cpu::rms_row_bwd(dy.f32() + row + h * d, x.f32() + row + h * d, q ? wq.f32() : wk.f32(),
                       rstd.f32()[r * normed + h], dx.f32() + row + h * d,
                       q ? dwq.f32() : dwk.f32(), d);
    }
    std::copy(dy.f32() + row + normed * d, dy.f32() + row + x.cols, dx.f32() + row + normed * d);
  }
}

// LayerNorm of rows: y = (x - mean) * rstd * scale + shift, rstd = 1/sqrt(var + eps). Its backward
// pass works the mean out again.

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
    const float g =
        cpu::lane_sum<float>(n, [=](std::int64_t i) { return d[i] * scale[i]; }) / count;
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
