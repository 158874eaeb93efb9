// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Biases on the CPU: vectors and tables added to rows, and biases of grouped products.
#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

// Vectors and tables added to rows, and their gradients: sums in the order of the rows.

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

// Biases of grouped products: a row of b for each group of rows, weighted by a probability a row.
// Sums go over the rows in their order.

namespace {

// visit(group, row) in order.
template <class Visit>
void for_each_row(View counts, std::int64_t rows, Visit visit) {
  std::int64_t row = 0;
  for (std::int64_t g = 0; g < counts.elements(); ++g) {
    const std::int64_t end = row + counts.i32()[g];
    PLEAT_ASSERT(end <= rows);
    for (; row < end; ++row) visit(g, row);
  }
  PLEAT_ASSERT(row == rows);
}

void check(View b, View counts, View p, View y) {
  PLEAT_ASSERT(b.elements() == counts.elements() * y.cols);
  PLEAT_ASSERT(p.data == nullptr || p.elements() == y.rows);
}

}  // namespace

void CpuKernels::grouped_bias(View b, View counts, View p, double scale, View y) {
  check(b, counts, p, y);
  for_each_row(counts, y.rows, [&](std::int64_t g, std::int64_t r) {
    const float factor = static_cast<float>(scale) * (p.data == nullptr ? 1.0F : p.f32()[r]);
    const float* from = b.f32() + g * y.cols;
    float* to = y.f32() + r * y.cols;
    for (std::int64_t i = 0; i < y.cols; ++i) to[i] += factor * from[i];
  });
}

void CpuKernels::grouped_bias_bwd(View dy, View counts, View p, View db) {
  check(db, counts, p, dy);
  for_each_row(counts, dy.rows, [&](std::int64_t g, std::int64_t r) {
    const float factor = p.data == nullptr ? 1.0F : p.f32()[r];
    const float* from = dy.f32() + r * dy.cols;
    float* to = db.f32() + g * dy.cols;
    for (std::int64_t i = 0; i < dy.cols; ++i) to[i] += factor * from[i];
  });
}

void CpuKernels::grouped_bias_probs(View dy, View b, View counts, double scale, View dp) {
  check(b, counts, dp, dy);
  for_each_row(counts, dy.rows, [&](std::int64_t g, std::int64_t r) {
    dp.f32()[r] = static_cast<float>(scale) *
                  cpu::dot(dy.f32() + r * dy.cols, b.f32() + g * dy.cols, dy.cols);
  });
}

}  // namespace pleat
