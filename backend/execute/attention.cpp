// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/attention.hpp"

#include "backend/execute/attention_operands.hpp"
#include "backend/execute/execution.hpp"
#include "backend/execute/sequences.hpp"
#include "backend/runtime/views.hpp"
#include "core/program/layer_builder.hpp"

namespace pleat::execute {
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

bool has_sinks(const Call& c) {
  return c.site->program->tensor(c.op.in.back()).cls == TensorClass::weight;
}

// Without pieces, windows, sinks, documents and narrow operands the whole core is one call.
bool is_plain_attention(const Call& c, const Execution& run) {
  return run.program.plan.attention.cp == 1 && c.op.attr.window == 0 && !has_sinks(c) &&
         !is_quantized(c.op.attr.math) && run.program.workload.documents.empty() &&
         !run.batches->rules().reset_attention;
}

// The sinks of this rank's heads: context parallelism may divide the heads of a tp rank further.
View sinks_of(const Call& c, const Execution& run, View all) {
  const std::int64_t heads = c.op.attr.heads;
  const ContextShares shares(run.program.plan);
  return elements_of(all, run.ranks.attention().cp % shares.heads * heads, heads);
}

// Packed qkv: the q and k heads rotate, v does not. MLA: the last rope_dim columns of each block.
void rotate(const Call& c, Execution& run, bool inverse) {
  const OpAttributes& a = c.op.attr;
  const ModelSpec& model = run.program.model;
  const bool mla = model.attention.kind == AttentionKind::mla;
  const int layer = layer_of_result(c).value;
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
  const std::vector<std::int32_t> places = token_positions(*c.site, run);
  if (!places.empty()) shape.positions = places.data();
  run.kernels.rope(c.out[0], shape, inverse);
}

}  // namespace

void attention(const Call& c, Execution& run) {
  const auto& in = c.in;
  const OpAttributes& a = c.op.attr;
  const bool mla = is_mla(c.op);
  if (is_plain_attention(c, run)) {
    if (!mla) return run.kernels.attention(in[0], c.out[0], c.out[1], gqa_shape(a));
    return run.kernels.mla_attention(in[0], in[1], in[2], c.out[0], c.out[1], mla_shape(a, in[2]));
  }
  AttentionPieces p(c, run);
  bool resume = a.piece > 0;
  const bool sinks = has_sinks(c);
  if (sinks) {  // as a key that came before
    run.kernels.start_at_sinks(sinks_of(c, run, in.back()), c.out[0], c.out[1]);
    resume = true;
  }
  const View others = p.pieces == 1 ? View{} : in[in.size() - (sinks ? 2 : 1)];
  for (int i = p.first; i < p.last; ++i) {
    if (!p.look_at(i)) continue;
    const View gathered =
        p.pieces == 1 || a.pieces > 0 ? others : keys_of_piece(others, i, p.pieces);
    const bool whole_keys = p.pieces > 1 || p.shared_heads > 1;
    const View keys = p.pieces > 1 ? gathered : in[mla ? 1 : 0];
    const AttentionOperands o = !mla         ? packed_operands(a, in[0], gathered)
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
    run.kernels.attention_piece(piece, head_outputs(a, c.out[0]), c.out[1], resume);
    resume = true;
  }
}

void attention_backward(const Call& c, Execution& run) {
  const auto& in = c.in;
  const auto& out = c.out;
  const OpAttributes& a = c.op.attr;
  const bool mla = is_mla(c.op);
  if (is_plain_attention(c, run)) {
    if (!mla) return run.kernels.attention_bwd(in[0], in[1], in[2], in[3], out[0], gqa_shape(a));
    return run.kernels.mla_attention_bwd(in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1],
                                         out[2], mla_shape(a, in[3]));
  }
  AttentionPieces p(c, run);
  const bool sinks = has_sinks(c);
  const auto keys_and_queries = out.first(out.size() - (sinks ? 1 : 0));
  if (a.piece == 0) {
    for (const View& gradient : keys_and_queries) run.kernels.zero(gradient);
  }
  const bool ring = p.pieces > 1, whole_keys = ring || p.shared_heads > 1;
  // do, qkv, o, lse, or do, q, kv [, kpe], o, lse; then the gathered keys; the sinks.
  const std::size_t at_o = !mla ? 2 : p.shared_heads > 1 ? 3 : 4;
  const View o = in[at_o], lse = in[at_o + 1];
  if (sinks) {
    run.kernels.sinks_bwd(in[0], o, lse, sinks_of(c, run, in.back()), sinks_of(c, run, out.back()));
  }
  const bool gathered = ring && a.pieces == 0;
  for (int i = p.first; i < p.last; ++i) {
    if (!p.look_at(i)) continue;
    View keys = ring ? in[at_o + 2] : View{}, dkeys = ring ? keys_and_queries.back() : View{};
    if (gathered) {
      keys = keys_of_piece(keys, i, p.pieces);
      dkeys = keys_of_piece(dkeys, i, p.pieces);
    }
    AttentionOperands x, dx;
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
    run.kernels.attention_piece_bwd(
        piece, head_outputs(a, in[0]), head_outputs(a, o), lse,
        {.dq = {dx.q[0], dx.q[1]}, .dk = {dx.k[0], dx.k[1]}, .dv = dx.v});
  }
}

void rope(const Call& c, Execution& run) { rotate(c, run, false); }
void rope_bwd(const Call& c, Execution& run) { rotate(c, run, true); }

}  // namespace pleat::execute
