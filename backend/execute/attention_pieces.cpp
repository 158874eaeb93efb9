// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/attention_pieces.hpp"

#include "backend/execute/execution.hpp"
#include "backend/execute/sequences.hpp"
#include "core/program/layer_builder.hpp"

namespace pleat::execute {

AttentionPieces::AttentionPieces(const Call& c, const Execution& run) {
  const ContextShares shares(run.program.plan);
  batch = run.program.plan.micro_batch;
  seq = run.program.workload.seq_len;
  window = c.op.attr.window;
  chunk = c.op.attr.seq < seq ? c.op.attr.seq : 0;
  ranks = run.program.plan.attention.cp;
  shared_heads = shares.heads;
  pieces = shares.ring;
  mine = run.ranks.attention().cp / shares.heads;
  last = pieces;
  if (c.op.attr.pieces > 0) {  // a step of the ring: from so many ranks before
    first = (mine + pieces - static_cast<int>(c.op.attr.piece)) % pieces;
    last = first + 1;
  }
  documents = document_starts(*c.site, run);
}

bool AttentionPieces::look_at(int piece) {
  const auto shard = [&](int index) {
    return positions({.seq = seq,
                      .ranks = ranks,
                      .first = std::int64_t{index} * shared_heads,
                      .count = shared_heads});
  };
  const std::vector<std::int32_t> queries = shard(mine), keys = shard(piece);
  visible.resize(2 * queries.size() * static_cast<std::size_t>(batch));
  bool any = false;
  for (std::int64_t b = 0; b < batch; ++b) {
    KeyMask mask{.documents = {}, .window = window, .chunk = chunk};
    const auto length = static_cast<std::size_t>(seq), first = static_cast<std::size_t>(b);
    if (!documents.empty()) mask.documents = std::span(documents).subspan(first * length, length);
    any = visible_rows(queries, keys, mask, rows() + first * queries.size()) || any;
  }
  return any;
}

}  // namespace pleat::execute
