// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// RMSNorm over each head of packed qkv rows [(n+2g)d]: q heads with wq, k heads with wk, v copied.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/rms.hpp"

namespace pleat {
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

}  // namespace pleat
