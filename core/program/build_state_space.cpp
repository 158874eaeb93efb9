// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Mamba-1 and the short convolution of LFM2 in place of attention. A first model, as in
// build_hybrid.cpp: projections as matrix products, the convolution by its bytes, the scan as one
// operation of so many FLOPs. Columns of the inner width are split over tp, and for what walks
// along the sequence over cp, too.
#include "core/program/layer_builder.hpp"
#include "core/spec/mixer_size.hpp"

namespace pleat {
namespace {

// What the steps and the state's input and output are made of, from all columns: a product with
// split columns, its sum over the ranks, and all tokens of it on each of them again.
TensorId from_all_columns(LayerBuilder& b, const std::string& name, TensorId x,
                          std::int64_t columns) {
  const LocalShape& s = b.shape();
  const TensorId w =
      b.weight(name, {{columns}, {s.model.recurrence->values() / s.tp}}, Bucket::dense);
  const TensorId part = b.gemm(name, Module::core_attn, x, w, s.act);
  const TensorId sum = b.reduce_tokens(name + ".rs", Module::core_attn, part);
  return b.gather_tokens(name + ".ag", Module::core_attn, sum);
}

TensorId inner_norm(LayerBuilder& b, const std::string& name, TensorId x, std::int64_t columns) {
  const LocalShape& s = b.shape();
  const TensorId w = b.weight(name, {{columns}}, Bucket::dense, true);
  b.sum_over_tp(w);
  return b.pointwise(name, Module::core_attn, {x, w}, {{s.S}, {columns}});
}

}  // namespace

TensorId build_mamba1(LayerBuilder& b, TensorId x) {
  const LocalShape& s = b.shape();
  const RecurrenceSpec& r = *s.model.recurrence;
  const std::int64_t h = s.model.hidden, inner = r.values() / s.tp, own = inner / s.cp;
  const Dim rows{s.S * s.cp};
  const bool split = s.cp > 1;

  const Half half = open_half(b, "attn", x);
  const TensorId normed = b.rms_norm("attn_norm", half.in, h);
  const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
  const TensorId w_in = b.weight("in_proj", {{inner}, {h}}, Bucket::dense);
  TensorId in = b.gemm("in_proj", Module::qkv, all, w_in, s.act);
  const TensorId w_gate = b.weight("out_gate", {{inner}, {h}}, Bucket::dense);
  const TensorId gate = b.gemm("out_gate", Module::qkv, all, w_gate, s.act);

  if (split) in = exchange_channels(b, "in_proj.columns", in, own, true);
  const TensorId w_conv = b.weight("conv", {{(r.conv + 1) * inner}}, Bucket::dense);
  const TensorId convolved = b.pointwise("conv", Module::core_attn, {in, w_conv}, {rows, {own}});
  const TensorId tokens =
      split ? exchange_channels(b, "conv.tokens", convolved, own, false) : convolved;

  TensorId low = from_all_columns(b, "step_a", tokens, r.step_rank);
  TensorId state = from_all_columns(b, "state", tokens, 2 * r.keys());
  if (r.inner_norms) {
    low = inner_norm(b, "step_norm", low, r.step_rank);
    state = inner_norm(b, "state_norm", state, 2 * r.keys());
  }
  const TensorId w_step = b.weight("step_b", {{inner}, {r.step_rank}}, Bucket::dense);
  LayerBuilder::GemmOptions biased;
  biased.bias = b.weight("step_b.bias", {{inner}}, Bucket::dense);
  TensorId step = b.gemm("step_b", Module::core_attn, low, w_step, s.act, biased);
  if (split) {
    step = exchange_channels(b, "step.columns", step, own, true);
    state = gather_context(b, "state.context", Module::core_attn, state);
  }
  const TensorId w_scan = b.weight("scan", {{inner * (r.key_dim + 1)}}, Bucket::dense);
  const double flops = 2.0 * static_cast<double>(s.S) * recurrence_core(r, Mixer::mamba1) / s.tp;
  TensorId o = b.token_mixing("scan", Module::core_attn, {convolved, step, state, w_scan},
                              {rows, {own}}, flops, 2 * flops);
  if (split) o = exchange_channels(b, "scan.tokens", o, own, false);
  const TensorId gated = b.pointwise("scan_gated", Module::core_attn, {o, gate}, {{s.S}, {inner}});

  const TensorId w_out = b.weight("attn_proj", {{h}, {inner}}, Bucket::dense);
  const TensorId out = b.gemm("attn_proj", Module::attn_proj, gated, w_out, s.act);
  return close_half(b, "attn", half, {b.reduce_tokens("attn_proj.rs", Module::attn_proj, out)});
}

TensorId build_short_conv(LayerBuilder& b, TensorId x) {
  const LocalShape& s = b.shape();
  const RecurrenceSpec& r = *s.model.recurrence;
  const std::int64_t h = s.model.hidden, inner = r.values() / s.tp, own = inner / s.cp;
  const Dim rows{s.S * s.cp};

  const Half half = open_half(b, "attn", x);
  const TensorId normed = b.rms_norm("attn_norm", half.in, h);
  const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
  const TensorId w_in = b.weight("in_proj", {{3 * inner}, {h}}, Bucket::dense);
  TensorId in = b.gemm("in_proj", Module::qkv, all, w_in, s.act);
  if (s.cp > 1) in = exchange_channels(b, "in_proj.columns", in, 3 * own, true);
  // Gated before the convolution and behind it.
  const TensorId w_conv = b.weight("conv", {{r.conv * inner}}, Bucket::dense);
  TensorId o = b.pointwise("conv", Module::core_attn, {in, w_conv}, {rows, {own}});
  if (s.cp > 1) o = exchange_channels(b, "conv.tokens", o, own, false);

  const TensorId w_out = b.weight("attn_proj", {{h}, {inner}}, Bucket::dense);
  const TensorId out = b.gemm("attn_proj", Module::attn_proj, o, w_out, s.act);
  return close_half(b, "attn", half, {b.reduce_tokens("attn_proj.rs", Module::attn_proj, out)});
}

}  // namespace pleat
