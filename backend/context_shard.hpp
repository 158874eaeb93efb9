// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tokens of a sequence the ranks of a context-parallel group hold, and which keys a query
// sees. The sequence is cut into 2 * ranks chunks; rank r has chunks r and 2 * ranks - 1 - r, so
// that all have as many causal scores (Megatron-LM get_batch_on_this_cp_rank).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pleat {

// `count` ranks from `first` on, of `ranks`.
struct ContextShard {
  std::int64_t seq = 0, ranks = 1, first = 0, count = 1;
  [[nodiscard]] std::int64_t chunk() const { return seq / (2 * ranks); }
  [[nodiscard]] std::int64_t tokens() const { return 2 * chunk() * count; }
};

// Positions in the sequence of the tokens they hold together, ascending.
[[nodiscard]] std::vector<std::int32_t> positions(const ContextShard&);

// Of each position of a sequence where its document begins: documents of these lengths, in their
// order and over again, the first of sequence i is lengths[i % size].
void packed_documents(std::span<const std::int64_t> lengths, std::int64_t sequence,
                      std::span<std::int32_t> starts);

// What hides earlier keys. `documents`: of each position where its document begins; empty: one
// document. `window`: keys a query reaches, its own included, 0: all. `chunk`: aligned runs of the
// sequence that are attended by themselves, 0: none.
struct KeyMask {
  std::span<const std::int32_t> documents;
  std::int64_t window = 0, chunk = 0;
};

using RowRange = std::int32_t[2];

// rows[i] = [first, last) of the ascending `keys` that the query at position queries[i] sees.
// Returns whether any query sees any key.
bool visible_rows(std::span<const std::int32_t> queries, std::span<const std::int32_t> keys,
                  const KeyMask&, RowRange* rows);

}  // namespace pleat
