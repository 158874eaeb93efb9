// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/visible_keys.hpp"

#include <algorithm>

namespace pleat::cuda {

std::optional<VisibleBlock> as_block(const std::int32_t (*visible)[2], std::int64_t batch,
                                     std::int64_t rows) {
  const auto sees = [&](std::int64_t r) { return visible[r][0] < visible[r][1]; };
  VisibleBlock b;
  while (b.first_row < rows && !sees(b.first_row)) ++b.first_row;
  while (b.first_row + b.rows < rows && sees(b.first_row + b.rows)) ++b.rows;
  if (b.rows == 0) return std::nullopt;
  const std::int64_t last = b.first_row + b.rows - 1, first_end = visible[b.first_row][1];
  b.first_key = visible[b.first_row][0];
  b.keys = visible[last][1] - b.first_key;
  b.causal = first_end != visible[last][1];
  if (b.causal && first_end != b.first_key + 1) return std::nullopt;
  for (std::int64_t r = 0; r < batch * rows; ++r) {
    const std::int64_t i = r % rows - b.first_row;
    const bool inside = i >= 0 && i < b.rows;
    if (inside != sees(r)) return std::nullopt;
    if (!inside) continue;
    const std::int64_t end = b.causal ? b.first_key + i + 1 : first_end;
    if (visible[r][0] != b.first_key || visible[r][1] != end) return std::nullopt;
  }
  return b;
}

std::optional<VisibleSequences> as_sequences(const std::int32_t (*visible)[2], std::int64_t batch,
                                             std::int64_t rows) {
  VisibleSequences all;
  for (std::int64_t run = 0; run < batch; ++run) {
    std::int64_t begin = 0;  // of the running sequence
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t from = visible[run * rows + r][0], to = visible[run * rows + r][1];
      if (to != r + 1 || from < begin) return std::nullopt;
      if (r == 0 && from != 0) return std::nullopt;
      if (from == r) {
        begin = r;
        all.first.push_back(static_cast<std::int32_t>(run * rows + r));
      } else if (from > begin) {
        const std::int64_t window = r + 1 - from;
        if (all.window == 0) all.window = window;
        if (window != all.window) return std::nullopt;
      }
    }
  }
  all.first.push_back(static_cast<std::int32_t>(batch * rows));
  for (std::size_t s = 0; s + 1 < all.first.size(); ++s) {
    all.longest = std::max<std::int64_t>(all.longest, all.first[s + 1] - all.first[s]);
  }
  // A sequence that is longer than the window and shows all is none of this window's.
  for (std::size_t s = 0; all.window > 0 && s + 1 < all.first.size(); ++s) {
    const std::int64_t last = all.first[s + 1] - 1, begin = all.first[s];
    const std::int64_t seen = visible[last][1] - visible[last][0];
    if (seen != std::min(all.window, last + 1 - begin)) return std::nullopt;
  }
  return all;
}

}  // namespace pleat::cuda
