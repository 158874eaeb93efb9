// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/attention_operands.hpp"

#include "backend/execute/execution.hpp"
#include "backend/execute/sequences.hpp"
#include "core/program/layer_builder.hpp"

namespace pleat::execute {

AttentionOperands packed_operands(const OpAttributes& a, View qkv, View kv) {
  const std::int64_t d = a.head_dim, dv = a.v_dim, share = a.heads / a.kv_groups;
  const bool own = kv.data == nullptr;
  const View x = own ? qkv : kv;
  const std::int64_t first = own ? a.heads * d : 0;
  AttentionOperands o;
  o.q[0] = {.x = qkv, .first = 0, .stride = d, .width = d};
  o.k[0] = {.x = x, .first = first, .stride = d, .width = d, .share = share};
  o.v = {.x = x, .first = first + a.kv_groups * d, .stride = dv, .width = dv, .share = share};
  return o;
}

AttentionOperands latent_operands(const OpAttributes& a, View q, View kv, View kpe) {
  const std::int64_t dn = a.nope_dim, dr = a.rope_dim, dv = a.v_dim;
  AttentionOperands o;
  o.q[0] = {.x = q, .first = 0, .stride = dn + dr, .width = dn};
  o.q[1] = {.x = q, .first = dn, .stride = dn + dr, .width = dr};
  o.k[0] = {.x = kv, .first = 0, .stride = dn + dv, .width = dn};
  o.k[1] = {.x = kpe, .first = kpe.cols - dr, .stride = 0, .width = dr};
  o.v = {.x = kv, .first = dn, .stride = dn + dv, .width = dv};
  return o;
}

AttentionOperands whole_key_operands(const OpAttributes& a, View q, View kv) {
  const std::int64_t d = a.nope_dim + a.rope_dim, dv = a.v_dim;
  AttentionOperands o;
  o.q[0] = {.x = q, .first = 0, .stride = d, .width = d};
  o.k[0] = {.x = kv, .first = 0, .stride = d + dv, .width = d};
  o.v = {.x = kv, .first = d, .stride = d + dv, .width = dv};
  return o;
}

HeadColumns head_outputs(const OpAttributes& a, View o) {
  return {.x = o, .first = 0, .stride = a.v_dim, .width = a.v_dim};
}

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
