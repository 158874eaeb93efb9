// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recurrences in place of attention: gated DeltaNet, Kimi Delta Attention, Mamba-2. A first model:
// projections as matrix products, convolution and gated norm by their bytes, the scan as one
// operation of so many FLOPs. Heads are split over tp, and between the projections over cp, too.
#include <fmt/format.h>

#include <algorithm>

#include "core/program/layer_builder.hpp"
#include "core/spec/mixer_size.hpp"

namespace pleat {
namespace {

// Per rank of so many. Small groups (Mamba-2's) are copied when there are more ranks.
struct RecurrenceSizes {
  std::int64_t keys, values, value_heads, key_heads;
};

RecurrenceSizes sizes_on_rank(const RecurrenceSpec& r, std::int64_t ranks) {
  const std::int64_t key_heads = std::max<std::int64_t>(1, r.key_heads / ranks);
  return {key_heads * r.key_dim, r.values() / ranks, r.value_heads / ranks, key_heads};
}

// Parameters beside the matrices: the convolution, and what each head's decay and step need.
struct SmallWeights {
  std::int64_t conv, scan;
};

SmallWeights small_weights(const RecurrenceSpec& r, const RecurrenceSizes& z, Mixer mixer) {
  const std::int64_t mixed = 2 * z.keys + z.values;
  switch (mixer) {
    case Mixer::gated_delta_net:
      return {r.conv * mixed, 2 * z.value_heads};
    case Mixer::kimi_delta:
      return {r.conv * mixed, z.key_heads + z.keys};
    case Mixer::mamba2:
      return {(r.conv + 1) * mixed, 3 * z.value_heads};
    case Mixer::mamba1:  // build_state_space.cpp
    case Mixer::short_conv:
    case Mixer::attention:
    case Mixer::none:
      break;
  }
  return {};
}

// What steers the recurrence, one matrix product from the input: decay and step of every head.
std::vector<TensorId> steering(LayerBuilder& b, TensorId all, const RecurrenceSpec& r,
                               const RecurrenceSizes& z, Mixer mixer) {
  const LocalShape& s = b.shape();
  const Dim h{s.model.hidden};
  const auto project = [&](const std::string& name, TensorId x, std::int64_t columns, Dim from,
                           bool replicated) {
    const TensorId w = b.weight(name, {{columns}, from}, Bucket::dense, replicated);
    return b.gemm(name, Module::qkv, x, w, s.act);
  };
  const std::int64_t per_head = mixer == Mixer::gated_delta_net ? 2 : 1;
  std::vector<TensorId> list{project("step", all, per_head * z.value_heads, h, false)};
  if (mixer == Mixer::kimi_delta) {
    const TensorId low = project("decay_a", all, r.key_dim, h, true);
    list.push_back(project("decay_b", low, z.keys, {r.key_dim}, false));
  }
  return list;
}

// Their channels on a rank of the context, where they are cut.
std::int64_t steering_channels(LayerBuilder& b, TensorId steer) {
  return std::max<std::int64_t>(1, b.dims(steer).back().n / b.shape().cp);
}

}  // namespace

TensorId build_recurrence(LayerBuilder& b, TensorId x, Mixer mixer) {
  const LocalShape& s = b.shape();
  const RecurrenceSpec& r = *s.model.recurrence;
  const RecurrenceSizes z = sizes_on_rank(r, s.tp);
  const SmallWeights small = small_weights(r, z, mixer);
  const std::int64_t h = s.model.hidden, mixed = 2 * z.keys + z.values;

  const Half half = open_half(b, "attn", x);
  const TensorId normed = b.rms_norm("attn_norm", half.in, h);
  const TensorId all = b.gather_tokens("attn_norm.ag", Module::qkv, normed);
  const TensorId w_in = b.weight("in_proj", {{mixed}, {h}}, Bucket::dense);
  const TensorId projected = b.gemm("in_proj", Module::qkv, all, w_in, s.act);
  TensorId gate_from = all;
  std::int64_t gate_columns = h;
  if (r.gate_rank > 0) {
    const TensorId w = b.weight("out_gate_a", {{r.gate_rank}, {h}}, Bucket::dense, true);
    gate_from = b.gemm("out_gate_a", Module::qkv, all, w, s.act);
    gate_columns = r.gate_rank;
  }
  const TensorId w_gate = b.weight("out_gate", {{z.values}, {gate_columns}}, Bucket::dense);
  TensorId gate = b.gemm("out_gate", Module::qkv, gate_from, w_gate, s.act);
  std::vector<TensorId> steer = steering(b, all, r, z, mixer);
  // Between the projections a rank of the context has all tokens and its share of the heads.
  TensorId own = projected;
  const bool split = s.cp > 1;
  const RecurrenceSizes c = sizes_on_rank(r, std::int64_t{s.tp} * s.cp);
  const Dim rows{s.S * s.cp};
  const std::int64_t channels = 2 * c.keys + c.values;
  if (split) {
    own = exchange_channels(b, "in_proj.heads", projected, channels, true);
    gate = exchange_channels(b, "out_gate.heads", gate, c.values, true);
    for (std::size_t i = 0; i < steer.size(); ++i) {
      steer[i] = exchange_channels(b, fmt::format("steer{}.heads", i), steer[i],
                                   steering_channels(b, steer[i]), true);
    }
  }

  const TensorId w_conv = b.weight("conv", {{small.conv}}, Bucket::dense);
  const TensorId convolved =
      b.pointwise("conv", Module::core_attn, {own, w_conv}, {rows, {channels}});
  std::vector<TensorId> in{convolved};
  in.insert(in.end(), steer.begin(), steer.end());
  in.push_back(b.weight("scan", {{small.scan}}, Bucket::dense));
  const double flops = 2.0 * static_cast<double>(s.S) * recurrence_core(r, mixer) / s.tp;
  const TensorId o =
      b.token_mixing("scan", Module::core_attn, in, {rows, {c.values}}, flops, 2 * flops);
  // Mamba-2 norms its inner width, the others every head by the same weights.
  const bool mamba = mixer == Mixer::mamba2;
  const TensorId w_norm =
      b.weight("scan_norm", {{mamba ? z.values : r.value_dim}}, Bucket::dense, !mamba);
  TensorId gated =
      b.pointwise("scan_norm", Module::core_attn, {o, gate, w_norm}, {rows, {c.values}});
  if (split) gated = exchange_channels(b, "scan.tokens", gated, c.values, false);

  const TensorId w_out = b.weight("attn_proj", {{h}, {z.values}}, Bucket::dense);
  const TensorId out = b.gemm("attn_proj", Module::attn_proj, gated, w_out, s.act);
  return close_half(b, "attn", half, {b.reduce_tokens("attn_proj.rs", Module::attn_proj, out)});
}

}  // namespace pleat
