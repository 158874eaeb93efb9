// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn_sequences.hpp"

#include "kernels/score_gradients.hpp"

namespace pleat::cuda {

std::int64_t most_score_bytes = kMostScoreBytes;

std::int64_t heads_at_once(const SdpaShape& s, bool deterministic) {
  if (!deterministic || !s.backward) return s.heads;
  return pleat::heads_at_once({s.batch, s.heads, s.groups, s.seq, s.key_count()}, most_score_bytes);
}

// Graphs are kept by the number of sequences: a power of two, the last ones empty.
Sequences::Sequences(const VisibleSequences& seen, std::int64_t rows, SdpaShape& shape)
    : rows_(rows) {
  shape.window = seen.window;
  if (seen.count() == shape.batch) return;
  std::int64_t n = 16;
  while (n < seen.count()) n *= 2;
  shape.ragged = true;
  shape.batch = n;
  const auto first = [&](std::int64_t s) {
    return s < seen.count() ? seen.first[static_cast<std::size_t>(s)]
                            : static_cast<std::int32_t>(rows);
  };
  for (std::int64_t s = 0; s < n; ++s) numbers_.push_back(first(s + 1) - first(s));
  for (const std::int64_t ld : {shape.q.ld, shape.k.ld, shape.v.ld, shape.o.ld}) {
    for (std::int64_t s = 0; s <= n; ++s)
      numbers_.push_back(static_cast<std::int32_t>(first(s) * ld));
  }
  for (std::int64_t s = 0; s < n; ++s) {
    numbers_.insert(numbers_.end(), static_cast<std::size_t>(first(s + 1) - first(s)),
                    static_cast<std::int32_t>(s));
  }
  for (std::int64_t s = 0; s <= n; ++s) numbers_.push_back(first(s));
}

std::size_t Sequences::bytes() const {
  return Scratch::bytes<std::int32_t>(static_cast<std::int64_t>(numbers_.size()));
}

Sequences::OnDevice Sequences::upload(const Resources& r, Scratch& scratch, const SdpaShape& shape,
                                      SdpaPointers& to) const {
  if (!shape.ragged) return {};
  auto* const all = scratch.take<std::int32_t>(static_cast<std::int64_t>(numbers_.size()));
  r.device().stage(all, numbers_.data(), numbers_.size() * sizeof numbers_[0]);
  const std::int64_t n = shape.batch;
  to.lengths = all;
  to.q_first = all + n;
  to.k_first = all + n + (n + 1);
  to.v_first = all + n + 2 * (n + 1);
  to.o_first = all + n + 3 * (n + 1);
  const std::int32_t* const sequence_of = all + n + 4 * (n + 1);
  return {sequence_of, sequence_of + rows_};
}

}  // namespace pleat::cuda
