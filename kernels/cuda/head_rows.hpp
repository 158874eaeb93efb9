// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Some rows of a matrix, and of a matrix with heads in its columns.
#pragma once

#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

[[nodiscard]] inline View row_range(View v, std::int64_t first, std::int64_t rows) {
  v.data = v.at(first * v.cols);
  v.rows = rows;
  return v;
}

[[nodiscard]] inline HeadColumns row_range(HeadColumns c, std::int64_t first, std::int64_t rows) {
  c.x = row_range(c.x, first, rows);
  return c;
}

}  // namespace pleat::cuda
