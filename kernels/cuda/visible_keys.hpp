// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which keys queries see, in the shapes that libraries know: one block of scores, or sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace pleat::cuda {

// One block of scores: in every run of queries, rows [first_row, + rows) see keys [first_key, +
// keys), and the other rows see none. Causal: row i of the block sees its first i + 1 keys only.
// This is what attention without a mask needs, and attention between chunks of context parallelism.
struct VisibleBlock {
  std::int64_t first_row = 0, rows = 0, first_key = 0, keys = 0;
  bool causal = false;
};

// visible[r] as in AttentionPiece, for `batch` runs of `rows` queries. None if the ranges are no
// such block, or are all empty.
[[nodiscard]] std::optional<VisibleBlock> as_block(const std::int32_t (*visible)[2],
                                                   std::int64_t batch, std::int64_t rows);

// Sequences one after the other, each causal, all with the same window.
struct VisibleSequences {
  std::vector<std::int32_t> first;  // rows at which they begin, and the number of rows
  std::int64_t longest = 0;
  std::int64_t window = 0;  // keys a query sees at most; 0: all before it
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

// visible[r] as in AttentionPiece, for `batch` runs of `rows` queries and as many keys. None if the
// ranges are no such sequences.
[[nodiscard]] std::optional<VisibleSequences> as_sequences(const std::int32_t (*visible)[2],
                                                           std::int64_t batch, std::int64_t rows);

}  // namespace pleat::cuda
