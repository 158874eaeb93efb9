// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention and rotary positions: the shapes that the kernels want, from the operation's
// attributes.
#include "backend/executor.hpp"

namespace pleat {
namespace {

AttentionShape gqa_shape(const OpAttributes& a) {
  return {a.batch, a.seq, a.heads, a.kv_groups, a.head_dim, a.scale, a.v_dim};
}

MlaShape mla_shape(const OpAttributes& a, View kpe) {
  return {a.batch, a.seq, a.heads, a.nope_dim, a.rope_dim, a.v_dim, kpe.cols - a.rope_dim, a.scale};
}

}  // namespace

void Executor::attention(const Call& c) {
  const auto& in = c.in;
  if (c.op.kind == OpKind::attention) {
    return kernels_.attention(in[0], c.out[0], c.out[1], gqa_shape(c.op.attr));
  }
  kernels_.mla_attention(in[0], in[1], in[2], c.out[0], c.out[1], mla_shape(c.op.attr, in[2]));
}

void Executor::attention_backward(const Call& c) {
  const auto& in = c.in;
  if (c.op.kind == OpKind::attention_bwd) {
    return kernels_.attention_bwd(in[0], in[1], in[2], in[3], c.out[0], gqa_shape(c.op.attr));
  }
  kernels_.mla_attention_bwd(in[0], in[1], in[2], in[3], in[4], in[5], c.out[0], c.out[1], c.out[2],
                             mla_shape(c.op.attr, in[3]));
}

// Packed qkv: the q and k heads rotate, v does not. MLA: the last rope_dim columns of each block.
void Executor::rope(const Call& c, bool inverse) {
  const OpAttributes& a = c.op.attr;
  const bool mla = program_.model.attention.kind == AttentionKind::mla;
  const RopeShape shape{.seq = a.seq,
                        .heads = mla ? a.heads : a.heads + a.kv_groups,
                        .stride = a.head_dim,
                        .first = 0,
                        .offset = a.rope_offset,
                        .dim = a.rope_dim,
                        .theta = program_.model.attention.rope_theta,
                        .scaling = program_.model.attention.rope_scaling,
                        .interleaved = program_.model.attention.rope_interleaved};
  kernels_.rope(c.out[0], shape, inverse);
}

}  // namespace pleat
