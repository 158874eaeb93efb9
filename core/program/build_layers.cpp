// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Whole layers from blocks: embedding, decoder, multi-token prediction, stage boundaries.
#include <algorithm>

#include "core/program/layer_builder.hpp"

namespace pleat {
namespace {

TensorId attention_block(LayerBuilder& b, TensorId x, const LayerTraits& t) {
  switch (b.shape().model.attention.kind) {
    case AttentionKind::gqa: return build_gqa(b, x, t);
    case AttentionKind::mla: return build_mla(b, x, t);
    case AttentionKind::compressed: return build_compressed_attention(b, x, t);
  }
  return x;
}

TensorId mixer_block(LayerBuilder& b, TensorId x, const LayerTraits& t) {
  switch (t.mixer) {
    case Mixer::attention: return attention_block(b, x, t);
    case Mixer::gated_delta_net:
    case Mixer::kimi_delta:
    case Mixer::mamba2: return build_recurrence(b, x, t.mixer);
    case Mixer::mamba1:
      return build_mamba1(b, x);
    case Mixer::short_conv:
      return build_short_conv(b, x);
    case Mixer::none: return x;
  }
  return x;
}

TensorId decoder_block(LayerBuilder& b, TensorId x, bool moe, const LayerTraits& t) {
  b.in_attention(true);
  const TensorId middle = mixer_block(b, x, t);
  b.in_attention(false);
  if (!t.mlp) return middle;
  return moe ? build_moe(b, middle) : build_mlp(b, middle);
}

// tokens -> hidden; the table is split over tp by vocabulary rows. `ahead`: of the tokens so many
// positions later.
TensorId embed(LayerBuilder& b, std::int64_t ahead) {
  const LocalShape& s = b.shape();
  const TensorId tokens = b.activation("tokens", {{s.S}}, DType::i32);
  Op& load = b.push(OpKind::load_tokens, "tokens", Module::embedding, {}, {tokens});
  load.attr.batch = s.batch;
  load.attr.seq = s.seq;
  load.attr.ahead = ahead;
  const std::int64_t rows = (s.model.vocab + s.tp - 1) / s.tp;
  const TensorId w = b.weight("embedding", {{rows}, {s.model.hidden}}, Bucket::dense);
  b.cut_rows(w, {{s.model.vocab}});
  const TensorId x = b.activation("embedded", {{s.S}, {s.model.hidden}}, s.act);
  std::vector<TensorId> tables{w};
  if (s.model.learned_positions > 0) {
    tables.push_back(b.weight("positions", {{s.model.learned_positions}, {s.model.hidden}},
                              Bucket::dense, true));
    b.sum_over_tp(tables.back());
  }
  std::vector<TensorId> in{tokens};
  in.insert(in.end(), tables.begin(), tables.end());
  const auto shape = [](Op& op, const LocalShape& local) {
    op.attr.seq = local.seq;
    op.attr.bias_scale = 1.0 / local.tp;  // of the positions, which every rank of the sum adds
  };
  shape(b.push(OpKind::embedding, "embedding", Module::embedding, in, {x}), s);
  b.on_backward([=, &b] {
    std::vector<TensorId> gradients;
    for (TensorId table : tables) gradients.push_back(b.weight_gradient(table));
    shape(b.push_backward(OpKind::embedding_bwd, "embedding.bwd", Module::embedding, Phase::wgrad,
                          {b.gradient(x), tokens}, gradients),
          b.shape());
  });
  return b.reduce_tokens("embedding.rs", Module::embedding, x);
}

}  // namespace

bool norm_before_depth(const ModelSpec& m) { return m.residual_streams == 1; }

LayerProgram build_embedding_layer(const LocalShape& s) {
  LayerBuilder b(LayerKind::embedding, s);
  const TensorId x = spread_streams(b, "embedding.streams", embed(b, 0));
  return b.finish(x);
}

LayerProgram build_decoder_layer(const LocalShape& s, bool moe, const LayerTraits& traits) {
  LayerBuilder b(moe ? LayerKind::moe : LayerKind::dense, s);
  const TensorId x = b.set_input({{s.T}, {s.residual}});
  const TensorId y = decoder_block(b, x, moe, traits);
  return b.finish(y);
}

// One prediction depth (DeepSeek-V3, arXiv:2412.19437 section 2.2; mcore
// transformer/multi_token_prediction.py): [norm(embedding of the next token) | norm(h)] -> h, one
// decoder layer and a norm of its own. All hidden states go on to the head, which is why its input
// has so many times the rows; a further depth takes the rows of the one before, and the embedding
// of a token further on. Megatron splits the projection over tp and gathers its output; here every
// rank projects its own tokens.
LayerProgram build_mtp_layer(const LocalShape& s, bool moe, Runtime runtime, int depth) {
  LayerBuilder b(LayerKind::mtp, s);
  const Dim h{s.model.hidden};
  const TensorId x = b.set_input({{(1 + depth) * s.T}, {s.residual}});
  std::vector<TensorId> states{x};  // of the model and the depths so far, the last by itself
  if (depth > 0) {
    states = {b.activation("mtp.earlier", {{depth * s.T}, {s.residual}}, s.act),
              b.activation("mtp.last", {{s.T}, {s.residual}}, s.act)};
    b.push(OpKind::concat_rows_bwd, "mtp.split", Module::head, {x}, states);
    b.on_backward([=, &b] {
      const std::vector<TensorId> d{b.gradient(states[0]), b.gradient(states[1])};
      b.push_backward(OpKind::concat_rows, "mtp.split.bwd", Module::head, Phase::backward, d,
                      {b.new_gradient(x)});
    });
  } else if (norm_before_depth(s.model)) {
    states = {b.rms_norm("final_norm", x, h.n)};
  }
  const TensorId joined = join_streams(b, "mtp.in", states.back(), s.T, false);
  const TensorId hidden = b.rms_norm("mtp.h_norm", joined, h.n);
  const TensorId next = b.rms_norm("mtp.e_norm", embed(b, 1 + depth), h.n);
  const TensorId both = b.activation("mtp.concat", {{s.T}, {2 * h.n}}, s.act);
  b.push(OpKind::concat_columns, "mtp.concat", Module::head, {next, hidden}, {both});
  b.on_backward([=, &b] {
    const TensorId d = b.gradient(both);
    const TensorId dh = b.new_gradient(hidden);
    const TensorId de = b.new_gradient(next);
    b.push_backward(OpKind::concat_columns_bwd, "mtp.concat.bwd", Module::head, Phase::backward,
                    {d}, {de, dh});
  });
  const bool cut = s.tp > 1 && runtime == Runtime::megatron;
  const TensorId w =
      b.weight("mtp.proj", {{cut ? h.n / s.tp : h.n}, {2 * h.n}}, Bucket::dense, !cut);
  if (cut) b.cut_rows(w, {{h.n}});
  TensorId projected = b.gemm("mtp.proj", Module::head, both, w, s.act);
  if (cut) {
    const TensorId full = b.activation("mtp.proj.ag", {{s.T}, h}, s.act);
    b.push(OpKind::all_gather, "mtp.proj.ag", Module::head, {projected}, {full}).group = Group::tp;
    const TensorId part = projected;
    b.on_backward([=, &b] {
      const TensorId d = b.gradient(full);
      const TensorId dp = b.new_gradient(part);
      b.push_backward(OpKind::reduce_scatter, "mtp.proj.rs", Module::head, Phase::backward, {d},
                      {dp})
          .group = Group::tp;
    });
    projected = full;
  }
  projected = spread_streams(b, "mtp.streams", projected);
  TensorId y = decoder_block(b, projected, moe, s.model.mtp_traits);
  y = join_streams(b, "mtp.out", y, s.T, false);
  const TensorId normed =
      spread_streams(b, "mtp.out.streams", b.rms_norm("mtp.final_norm", y, h.n));
  const TensorId rows = b.activation("mtp.rows", {{(2 + depth) * s.T}, {s.residual}}, s.act);
  states.push_back(normed);
  b.push(OpKind::concat_rows, "mtp.rows", Module::head, states, {rows});
  b.on_backward([=, &b] {
    const TensorId d = b.gradient(rows);
    std::vector<TensorId> parts;
    for (const TensorId state : states) parts.push_back(b.new_gradient(state));
    b.push_backward(OpKind::concat_rows_bwd, "mtp.rows.bwd", Module::head, Phase::backward, {d},
                    parts);
  });
  LayerProgram layer = b.finish(rows);
  layer.depth = depth;
  return layer;
}

LayerProgram build_recv_layer(const LocalShape& s, std::int64_t rows_factor) {
  LayerBuilder b(LayerKind::recv, s);
  const TensorId y =
      b.activation("received", {{rows_factor * s.T}, {s.residual}}, s.act);
  Op& recv = b.push(OpKind::recv, "recv", Module::pipeline, {}, {y});
  recv.group = Group::pp_prev;
  b.on_backward([=, &b] {
    b.push_backward(OpKind::send, "send.grad", Module::pipeline, Phase::backward, {b.gradient(y)},
                    {})
        .group = Group::pp_prev;
  });
  return b.finish(y);
}

LayerProgram build_send_layer(const LocalShape& s, std::int64_t rows_factor) {
  LayerBuilder b(LayerKind::send, s);
  const TensorId x = b.set_input({{rows_factor * s.T}, {s.residual}});
  b.push(OpKind::send, "send", Module::pipeline, {x}, {}).group = Group::pp_next;
  b.on_backward([=, &b] {
    const TensorId dx = b.new_gradient(x);
    b.push_backward(OpKind::recv, "recv.grad", Module::pipeline, Phase::backward, {}, {dx}).group =
        Group::pp_next;
  });
  return b.finish(std::nullopt);
}

}  // namespace pleat
