// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention and rotary positions. A causal core over whole sequences is one kernel; with context
// parallelism, windows or documents it goes over the keys piece by piece: gathered ones in rank
// order, one an operation in a ring.
#include "backend/context_shard.hpp"
#include "backend/executor.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/layer_builder.hpp"

namespace pleat {
namespace {

AttentionShape gqa_shape(const OpAttributes& a) {
  return {a.batch, a.seq, a.heads, a.kv_groups, a.head_dim, a.scale, a.v_dim};
}

MlaShape mla_shape(const OpAttributes& a, View kpe) {
  return {a.batch, a.seq, a.heads, a.nope_dim, a.rope_dim, a.v_dim, kpe.cols - a.rope_dim, a.scale};
}

bool is_mla(const Op& op) {
  return op.kind == OpKind::mla_attention || op.kind == OpKind::mla_attention_bwd;
}

// Rows [index * rows, + rows) of a tensor that holds `count` pieces one after another.
View keys_of_piece(View all, std::int64_t index, std::int64_t count) {
  const std::int64_t rows = all.rows / count;
  return rows_of(all, index * rows, rows);
}

// Heads of one kind of operand, values or gradients.
struct Operands {
  HeadColumns q[2], k[2], v;
};

// Packed qkv, or q in it and keys and values [k | v] of a piece.
Operands packed_operands(const OpAttributes& a, View qkv, View kv) {
  const std::int64_t d = a.head_dim, dv = a.v_dim, share = a.heads / a.kv_groups;
  const bool own = kv.data == nullptr;
  const View x = own ? qkv : kv;
  const std::int64_t first = own ? a.heads * d : 0;
  Operands o;
  o.q[0] = {.x = qkv, .first = 0, .stride = d, .width = d};
  o.k[0] = {.x = x, .first = first, .stride = d, .width = d, .share = share};
  o.v = {.x = x, .first = first + a.kv_groups * d, .stride = dv, .width = dv, .share = share};
  return o;
}

// Latent attention: keys without position and values of each head, the rotary part of all of them.
Operands latent_operands(const OpAttributes& a, View q, View kv, View kpe) {
  const std::int64_t dn = a.nope_dim, dr = a.rope_dim, dv = a.v_dim;
  Operands o;
  o.q[0] = {.x = q, .first = 0, .stride = dn + dr, .width = dn};
  o.q[1] = {.x = q, .first = dn, .stride = dn + dr, .width = dr};
  o.k[0] = {.x = kv, .first = 0, .stride = dn + dv, .width = dn};
  o.k[1] = {.x = kpe, .first = kpe.cols - dr, .stride = 0, .width = dr};
  o.v = {.x = kv, .first = dn, .stride = dn + dv, .width = dv};
  return o;
}

// The same where the rotary part was put into every head.
Operands whole_key_operands(const OpAttributes& a, View q, View kv) {
  const std::int64_t d = a.nope_dim + a.rope_dim, dv = a.v_dim;
  Operands o;
  o.q[0] = {.x = q, .first = 0, .stride = d, .width = d};
  o.k[0] = {.x = kv, .first = 0, .stride = d + dv, .width = d};
  o.v = {.x = kv, .first = d, .stride = d + dv, .width = dv};
  return o;
}

HeadColumns outputs(const OpAttributes& a, View o) {
  return {.x = o, .first = 0, .stride = a.v_dim, .width = a.v_dim};
}

}  // namespace

// How the core of this rank is divided, and what hides keys from queries.
struct Executor::AttentionPieces {
  std::int64_t batch = 0, seq = 0, window = 0, chunk = 0;
  int pieces = 1, mine = 0, shared_heads = 1, ranks = 1;
  int first = 0, last = 1;              // pieces of this operation
  std::vector<std::int32_t> documents;  // of every sequence; empty: one each
  std::vector<std::int32_t> visible;    // of one piece: a range for every query

  // Fills `visible` for the keys of a piece; false where no query sees any of them.
  bool look_at(int piece) {
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
  [[nodiscard]] RowRange* rows() { return reinterpret_cast<RowRange*>(visible.data()); }
};

Executor::AttentionPieces Executor::attention_pieces(const Call& c) const {
  const ContextShares shares(program_.plan);
  AttentionPieces p;
  p.batch = program_.plan.micro_batch;
  p.seq = program_.workload.seq_len;
  p.window = c.op.attr.window;
  p.chunk = c.op.attr.seq < p.seq ? c.op.attr.seq : 0;
  p.ranks = program_.plan.attention.cp;
  p.shared_heads = shares.heads;
  p.pieces = shares.ring;
  p.mine = context_.attention().cp / shares.heads;
  p.last = p.pieces;
  if (c.op.attr.pieces > 0) {  // a step of the ring: from so many ranks before
    p.first = (p.mine + p.pieces - static_cast<int>(c.op.attr.piece)) % p.pieces;
    p.last = p.first + 1;
  }
  p.documents = document_starts(*c.site);
  return p;
}

// No piece, window, sink, document or narrow operand: the whole core in one call.
bool Executor::is_plain_attention(const Call& c) const {
  return program_.plan.attention.cp == 1 && c.op.attr.window == 0 && !has_sinks(c) &&
         !is_quantized(c.op.attr.math) && program_.workload.documents.empty() &&
         !batches_->rules().reset_attention;
}

bool Executor::has_sinks(const Call& c) const {
  return c.site->program->tensor(c.op.in.back()).cls == TensorClass::weight;
}

// Those of the heads that the core has, where context parallelism shares the rank of tp's.
View Executor::sinks_of(const Call& c, View all) const {
  const std::int64_t heads = c.op.attr.heads;
  const ContextShares shares(program_.plan);
  return elements_of(all, context_.attention().cp % shares.heads * heads, heads);
}

void Executor::attention(const Call& c) {
  const auto& in = c.in;
  const OpAttributes& a = c.op.attr;
  const bool mla = is_mla(c.op);
  if (is_plain_attention(c)) {
    if (!mla) return kernels_.attention(in[0], c.out[0], c.out[1], gqa_shape(a));
    return kernels_.mla_attention(in[0], in[1], in[2], c.out[0], c.out[1], mla_shape(a, in[2]));
  }
  AttentionPieces p = attention_pieces(c);
  bool resume = a.piece > 0;
  const bool sinks = has_sinks(c);
  if (sinks) {  // as a key that came before
    kernels_.start_at_sinks(sinks_of(c, in.back()), c.out[0], c.out[1]);
    resume = true;
  }
  const View others = p.pieces == 1 ? View{} : in[in.size() - (sinks ? 2 : 1)];
  for (int i = p.first; i < p.last; ++i) {
    if (!p.look_at(i)) continue;
    const View gathered =
        p.pieces == 1 || a.pieces > 0 ? others : keys_of_piece(others, i, p.pieces);
    const bool whole_keys = p.pieces > 1 || p.shared_heads > 1;
    const View keys = p.pieces > 1 ? gathered : in[mla ? 1 : 0];
    const Operands o = !mla         ? packed_operands(a, in[0], gathered)
                       : whole_keys ? whole_key_operands(a, in[0], keys)
                                    : latent_operands(a, in[0], in[1], in[2]);
    const AttentionPiece piece{.batch = p.batch,
                               .heads = a.heads,
                               .scale = a.scale,
                               .q = {o.q[0], o.q[1]},
                               .k = {o.k[0], o.k[1]},
                               .v = o.v,
                               .visible = p.rows(),
                               .math = a.math};
    kernels_.attention_piece(piece, outputs(a, c.out[0]), c.out[1], resume);
    resume = true;
  }
}

void Executor::attention_backward(const Call& c) {
  const auto& in = c.in;
  const auto& out = c.out;
  const OpAttributes& a = c.op.attr;
  const bool mla = is_mla(c.op);
  if (is_plain_attention(c)) {
    if (!mla) return kernels_.attention_bwd(in[0], in[1], in[2], in[3], out[0], gqa_shape(a));
    return kernels_.mla_attention_bwd(in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1],
                                      out[2], mla_shape(a, in[3]));
  }
  AttentionPieces p = attention_pieces(c);
  const bool sinks = has_sinks(c);
  const auto keys_and_queries = out.first(out.size() - (sinks ? 1 : 0));
  if (a.piece == 0) {
    for (const View& gradient : keys_and_queries) kernels_.zero(gradient);
  }
  const bool ring = p.pieces > 1, whole_keys = ring || p.shared_heads > 1;
  // do, qkv, o, lse, or do, q, kv [, kpe], o, lse; then the gathered keys; the sinks.
  const std::size_t at_o = !mla ? 2 : p.shared_heads > 1 ? 3 : 4;
  const View o = in[at_o], lse = in[at_o + 1];
  if (sinks) {
    kernels_.sinks_bwd(in[0], o, lse, sinks_of(c, in.back()), sinks_of(c, out.back()));
  }
  const bool gathered = ring && a.pieces == 0;
  for (int i = p.first; i < p.last; ++i) {
    if (!p.look_at(i)) continue;
    View keys = ring ? in[at_o + 2] : View{}, dkeys = ring ? keys_and_queries.back() : View{};
    if (gathered) {
      keys = keys_of_piece(keys, i, p.pieces);
      dkeys = keys_of_piece(dkeys, i, p.pieces);
    }
    Operands x, dx;
    if (!mla) {
      x = packed_operands(a, in[1], keys);
      dx = packed_operands(a, out[0], dkeys);
    } else if (whole_keys) {
      x = whole_key_operands(a, in[1], ring ? keys : in[2]);
      dx = whole_key_operands(a, out[0], ring ? dkeys : out[1]);
    } else {
      x = latent_operands(a, in[1], in[2], in[3]);
      dx = latent_operands(a, out[0], out[1], out[2]);
    }
    const AttentionPiece piece{.batch = p.batch,
                               .heads = a.heads,
                               .scale = a.scale,
                               .q = {x.q[0], x.q[1]},
                               .k = {x.k[0], x.k[1]},
                               .v = x.v,
                               .visible = p.rows(),
                               .math = a.math};
    kernels_.attention_piece_bwd(piece, outputs(a, in[0]), outputs(a, o), lse,
                                 {.dq = {dx.q[0], dx.q[1]}, .dk = {dx.k[0], dx.k[1]}, .dv = dx.v});
  }
}

// Packed qkv: the q and k heads rotate, v does not. MLA: the last rope_dim columns of each block.
void Executor::rope(const Call& c, bool inverse) {
  const OpAttributes& a = c.op.attr;
  const ModelSpec& model = program_.model;
  const bool mla = model.attention.kind == AttentionKind::mla;
  const int layer = layer_of_result(c);
  const LayerTraits traits = layer < model.layers ? model.traits(layer) : model.mtp_traits;
  const AttentionSpec& attention = model.attention_of(traits);
  RopeShape shape{.seq = a.seq,
                  .heads = mla ? a.heads : a.heads + a.kv_groups,
                  .stride = a.head_dim,
                  .first = 0,
                  .offset = a.rope_offset,
                  .dim = a.rope_dim,
                  .theta = attention.rope_theta,
                  .scaling = attention.rope_scaling,
                  .interleaved = attention.rope_interleaved};
  const std::vector<std::int32_t> places = token_positions(*c.site);
  if (!places.empty()) shape.positions = places.data();
  kernels_.rope(c.out[0], shape, inverse);
}

}  // namespace pleat
