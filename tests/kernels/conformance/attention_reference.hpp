// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal attention of one head by its definition, in doubles, with the full score matrix.
#pragma once

#include "tests/kernels/conformance/matrix.hpp"

namespace pleat::conformance {

struct HeadOutput {
  Matrix o, lse;  // [seq, dv], [seq, 1]
};
struct HeadGradient {
  Matrix dq, dk, dv;
};
[[nodiscard]] HeadOutput attend(const Matrix& q, const Matrix& k, const Matrix& v, double scale);
[[nodiscard]] HeadGradient attend_bwd(const Matrix& d_o, const Matrix& q, const Matrix& k,
                                      const Matrix& v, double scale);

// Rows [first_row, +rows), columns [first_col, +cols) of m; and adding such a piece back.
[[nodiscard]] Matrix piece(const Matrix& m, std::int64_t first_row, std::int64_t rows,
                           std::int64_t first_col, std::int64_t cols);
void add_piece(Matrix& m, const Matrix& some, std::int64_t first_row, std::int64_t first_col);
[[nodiscard]] Matrix beside(const Matrix& left, const Matrix& right);

}  // namespace pleat::conformance
