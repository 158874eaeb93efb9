// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention, its rotation and its sinks on bf16 tensors.
#include "core/diagnostics.hpp"
#include "kernels/cpu/mixed_kernels.hpp"
#include "kernels/cpu/narrow_attention.hpp"

namespace pleat {

using Operands = cpu::MixedOperands;

namespace {

AttentionPiece widened(Operands& o, AttentionPiece p) {
  PLEAT_ASSERT(!is_quantized(p.math) || p.q[0].x.dtype == DType::bf16);
  for (std::size_t i = 0; i < 2; ++i) {
    p.q[i] = o.in(p.q[i]);
    p.k[i] = o.in(p.k[i]);
  }
  p.v = o.in(p.v);
  if (!is_quantized(p.math)) return p;
  for (const HeadColumns& c : {p.q[0], p.q[1], p.k[0], p.k[1], p.v}) {  // the copies made here
    cpu::round_heads(c, p.batch, p.heads, p.math, false);
  }
  return p;
}

AttentionPieceGradient widened(Operands& o, AttentionPieceGradient g) {
  for (std::size_t i = 0; i < 2; ++i) {
    g.dq[i] = o.inout(g.dq[i]);
    g.dk[i] = o.inout(g.dk[i]);
  }
  g.dv = o.inout(g.dv);
  return g;
}

}  // namespace

void MixedKernels::start_at_sinks(View sinks, View out, View lse) {
  Operands o(scratch_);
  CpuKernels::start_at_sinks(o.in(sinks), o.out(out), lse);
}

void MixedKernels::sinks_bwd(View d_o, View out, View lse, View sinks, View dsinks) {
  Operands o(scratch_);
  CpuKernels::sinks_bwd(o.in(d_o), o.in(out), lse, o.in(sinks), o.inout(dsinks));
}

void MixedKernels::rope(View x, const RopeShape& s, bool inverse) {
  Operands o(scratch_);
  CpuKernels::rope(o.inout(x), s, inverse);
}

void MixedKernels::attention(View qkv, View out, View lse, const AttentionShape& s) {
  Operands o(scratch_);
  CpuKernels::attention(o.in(qkv), o.out(out), lse, s);
}

void MixedKernels::attention_bwd(View d_o, View qkv, View out, View lse, View dqkv,
                                 const AttentionShape& s) {
  Operands o(scratch_);
  CpuKernels::attention_bwd(o.in(d_o), o.in(qkv), o.in(out), lse, o.out(dqkv), s);
}

void MixedKernels::mla_attention(View q, View kv, View kpe, View out, View lse, const MlaShape& s) {
  Operands o(scratch_);
  CpuKernels::mla_attention(o.in(q), o.in(kv), o.in(kpe), o.out(out), lse, s);
}

void MixedKernels::mla_attention_bwd(View d_o, View q, View kv, View kpe, View out, View lse,
                                     View dq, View dkv, View dkpe, const MlaShape& s) {
  Operands o(scratch_);  // dkpe keeps its other columns
  CpuKernels::mla_attention_bwd(o.in(d_o), o.in(q), o.in(kv), o.in(kpe), o.in(out), lse, o.out(dq),
                                o.out(dkv), o.inout(dkpe), s);
}

void MixedKernels::attention_piece(const AttentionPiece& p, HeadColumns out, View lse,
                                   bool resume) {
  Operands o(scratch_);
  CpuKernels::attention_piece(widened(o, p), o.inout(out), lse, resume);
}

void MixedKernels::attention_piece_bwd(const AttentionPiece& p, HeadColumns d_o, HeadColumns out,
                                       View lse, const AttentionPieceGradient& g) {
  Operands o(scratch_);
  const HeadColumns from = o.in(d_o);
  if (is_quantized(p.math)) cpu::round_heads(from, p.batch, p.heads, p.math, true);
  CpuKernels::attention_piece_bwd(widened(o, p), from, o.in(out), lse, widened(o, g));
}

}  // namespace pleat
