// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms of rows that lie anywhere: whole rows, the first columns of rows, or heads in packed rows.
#pragma once

#include "kernels/cuda/divisor.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Row r of a norm, part r % per of row r / per in memory, begins at element
// (r / per) * ld + first + (r % per) * step.
struct RowPlace {
  int ld = 0, first = 0, step = 0;
};

inline constexpr std::int64_t kMaxNormRows = 1 << 30;  // so that kernels count them in 32 bits

// `rows` rows of `cols` values. centered: a layer norm, whose w holds scale and shift.
struct NormShape {
  int rows = 0;
  std::int64_t cols = 0;
  Divisor per = {};
  RowPlace x, y, rstd;  // y: of the result, or of dy
  bool centered = false;
};

inline constexpr std::int64_t kMaxNormColumns = 32768;

// Options of a forward norm. `residual`, which lies where x does, is added first, and the sum is
// stored in `sum`. Without write_y only the statistics are computed.
struct NormExtras {
  View residual, sum;
  bool write_y = true;
};
void norm_forward(const Resources&, View x, View w, View y, View rstd, double eps, const NormShape&,
                  const NormExtras& = {});
// dx lies where x does. dresidual may have no data. Adds to dw.
void norm_backward(Resources&, View dy, View x, View w, View rstd, View dresidual, View dx, View dw,
                   const NormShape&);

}  // namespace pleat::cuda
