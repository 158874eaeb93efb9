// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many rows ranks send each other when a router decides. Each row draws one expert at random;
// ranks hold the experts in order. The numbers are the same on every rank and in every run.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/microbench/points.hpp"

namespace pleat {

inline constexpr std::int64_t kExpertRowBytes = 8192;  // 4,096 columns of bf16

// rows[from][to], where each rank has `rows` rows. How they are drawn:
//   uniform: every expert is equally likely
//   zipf:    expert e = 1, 2, 3 is drawn in proportion to 1 / e
//   hot:     the first expert gets four times the mean of a rank, but at most 7/8 of all rows; the
//            other experts share the rest equally
//   even:    each rank gets the same number; a remainder is sent to nobody
[[nodiscard]] std::vector<std::vector<std::int64_t>> expert_rows(RowShares, int ranks,
                                                                 std::int64_t rows);

// The most rows that any rank sends to other ranks or receives from them.
[[nodiscard]] std::int64_t busiest(const std::vector<std::vector<std::int64_t>>& rows);

[[nodiscard]] const char* name_of(RowShares);

}  // namespace pleat
