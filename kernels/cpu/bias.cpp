// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Vectors and tables added to rows, and their gradients: sums in the order of the rows.
#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

void add_scaled(const float* from, float scale, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += scale * from[i];
}

}  // namespace

void CpuKernels::add_bias(View b, double scale, View y) {
  PLEAT_ASSERT(b.elements() == y.cols);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    add_scaled(b.f32(), static_cast<float>(scale), y.f32() + r * y.cols, y.cols);
  }
}

void CpuKernels::add_bias_bwd(View dy, double scale, View db) {
  PLEAT_ASSERT(db.elements() == dy.cols);
  for (std::int64_t r = 0; r < dy.rows; ++r) {
    add_scaled(dy.f32() + r * dy.cols, static_cast<float>(scale), db.f32(), dy.cols);
  }
}

void CpuKernels::add_positions(View w, std::int64_t seq, double scale, View x) {
  PLEAT_ASSERT(w.cols == x.cols && seq > 0 && seq <= w.rows);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    add_scaled(w.f32() + r % seq * w.cols, static_cast<float>(scale), x.f32() + r * x.cols, x.cols);
  }
}

void CpuKernels::add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) {
  PLEAT_ASSERT(dw.cols == dx.cols && seq > 0 && seq <= dw.rows);
  for (std::int64_t r = 0; r < dx.rows; ++r) {
    add_scaled(dx.f32() + r * dx.cols, static_cast<float>(scale), dw.f32() + r % seq * dw.cols,
               dx.cols);
  }
}

}  // namespace pleat
