// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of the token table, or of a shard of it, and the scatter of their gradients in token order.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {

void CpuKernels::embedding(View tokens, View w, std::int64_t first, View x) {
  PLEAT_ASSERT(tokens.elements() == x.rows && w.cols == x.cols && w.dtype == x.dtype);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    const std::int64_t row = tokens.i32()[t] - first;
    if (row >= 0 && row < w.rows) {
      std::copy(w.at(row * w.cols), w.at((row + 1) * w.cols), x.at(t * x.cols));
    } else {
      std::fill(x.at(t * x.cols), x.at((t + 1) * x.cols), std::byte{0});
    }
  }
}

void CpuKernels::embedding_bwd(View dx, View tokens, std::int64_t first, View dw) {
  PLEAT_ASSERT(tokens.elements() == dx.rows && dw.cols == dx.cols);
  for (std::int64_t t = 0; t < dx.rows; ++t) {
    const std::int64_t row = tokens.i32()[t] - first;
    if (row < 0 || row >= dw.rows) continue;
    const float* from = dx.f32() + t * dx.cols;
    float* to = dw.f32() + row * dw.cols;
    for (std::int64_t c = 0; c < dx.cols; ++c) to[c] += from[c];
  }
}

}  // namespace pleat
