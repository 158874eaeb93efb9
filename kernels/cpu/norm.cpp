// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// RMSNorm of whole rows, and of the first columns of wider rows (MLA's kv latent).
#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/rms.hpp"

namespace pleat {

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

}  // namespace pleat
