// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows as they travel between ranks in fp8: the E4M3 codes of a row, behind them an fp32 scale for
// every 128 columns (the last may have fewer), and so row after row without a gap. A scale makes
// the largest |x| of its columns the largest code; of zeros it is 1.
#pragma once

#include <cstdint>

namespace pleat {

inline constexpr std::int64_t kNarrowRowBlock = 128;

[[nodiscard]] constexpr std::int64_t narrow_row_blocks(std::int64_t columns) {
  return (columns + kNarrowRowBlock - 1) / kNarrowRowBlock;
}

[[nodiscard]] constexpr std::int64_t narrow_row_bytes(std::int64_t columns) {
  return columns + 4 * narrow_row_blocks(columns);
}

}  // namespace pleat
