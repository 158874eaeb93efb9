// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many rows ranks send each other when a router decides: each row draws one of the experts,
// that lie on the ranks in order. The same numbers on every rank and in every run.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/microbench/points.hpp"

namespace pleat {

inline constexpr std::int64_t kExpertRowBytes = 8192;  // 4,096 columns of bf16

// rows[from][to], of `rows` rows of each rank. uniform: all experts alike. zipf: expert e, from 1
// on, in proportion to 1 / e. hot: the first rank's first expert gets four times a rank's mean, 7/8
// of all at most, and the others the rest alike. even: as many to each rank, what is left over to
// none.
[[nodiscard]] std::vector<std::vector<std::int64_t>> expert_rows(RowShares, int ranks,
                                                                 std::int64_t rows);

// Of the rows: the most that one rank sends to others, or gets from them.
[[nodiscard]] std::int64_t busiest(const std::vector<std::vector<std::int64_t>>& rows);

[[nodiscard]] const char* name_of(RowShares);

}  // namespace pleat
