// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/visible_block.hpp"

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

}  // namespace pleat::cuda
