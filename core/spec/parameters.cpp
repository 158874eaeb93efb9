// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parameters and model FLOPs of a transformer, term by term as in docs/MODEL.md sections 1 and 2.
// L layers, h hidden, V vocabulary, f FFN, E experts, k top-k.
#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/spec/mixer_size.hpp"
#include "core/spec/model.hpp"

namespace pleat {
namespace {

using Count = std::int64_t;

Count matrices_of_mlp(const ModelSpec& m) { return m.gated_mlp ? 3 : 2; }

Count mlp_biases(const ModelSpec& m, Count f) { return (matrices_of_mlp(m) - 1) * f + m.hidden; }

Count dense_mlp_parameters(const ModelSpec& m) {
  return matrices_of_mlp(m) * m.hidden * m.ffn + (m.mlp_bias ? mlp_biases(m, m.ffn) : 0);
}

// Router, `experts` of the experts, shared expert, projections to and from the latent.
Count moe_parameters(const ModelSpec& m, Count experts) {
  const MoeSpec& moe = *m.moe;
  const Count width = moe.latent > 0 ? moe.latent : m.hidden;
  const Count expert = matrices_of_mlp(m) * width * moe.ffn +
                       (moe.mlp_bias ? (matrices_of_mlp(m) - 1) * moe.ffn + width : 0);
  const Count shared =
      matrices_of_mlp(m) * m.hidden * moe.shared_ffn + (moe.shared_gate ? m.hidden : 0);
  const Count router = m.hidden * moe.experts + (moe.router_bias ? moe.experts : 0);
  const Count latent = 2 * m.hidden * moe.latent + (moe.latent_norm ? moe.latent : 0);
  return router + experts * expert + shared + latent;
}

// Norms and hyper-connections: one set for each half that the layer has.
Count around_halves(const ModelSpec& m, const LayerTraits& t) {
  const Count halves = (t.mixer != Mixer::none ? 1 : 0) + (t.mlp ? 1 : 0);
  const Count norms = m.norms_per_layer / 2 * m.hidden * norm_width(m);
  return halves * (norms + hyper_connection_parameters(m));
}

}  // namespace

Count ModelSpec::moe_layers() const {
  return moe ? std::count(moe_layer.begin(), moe_layer.end(), true) : 0;
}

ParameterCount count_parameters(const ModelSpec& m) {
  PLEAT_ASSERT(m.layers > 0 &&
               (!m.moe || m.moe_layer.size() == static_cast<std::size_t>(m.layers)));
  const Count h = m.hidden, norm = h * norm_width(m);
  ParameterCount count;
  count.attention_per_layer = mixer_parameters(m, {});
  count.moe_per_layer = m.moe ? moe_parameters(m, m.moe->experts) : 0;
  count.embedding = m.vocab * h;

  const Count active_moe = m.moe ? moe_parameters(m, m.moe->top_k) : 0;
  const Count tables = count.embedding * (m.tied_embeddings ? 1 : 2) + m.learned_positions * h;
  count.total = count.active = tables + norm + hyper_head_parameters(m);
  for (Count l = 0; l < m.layers; ++l) {
    const LayerTraits t = m.traits(l);
    const Count around = mixer_parameters(m, t) + around_halves(m, t);
    const bool moe = m.is_moe(l);
    if (t.mlp && !moe) count.dense_mlp_per_layer = dense_mlp_parameters(m);
    count.total += around + (t.mlp ? (moe ? count.moe_per_layer : count.dense_mlp_per_layer) : 0);
    count.active += around + (t.mlp ? (moe ? active_moe : count.dense_mlp_per_layer) : 0);
  }
  const Count last_mlp = m.is_moe(m.layers - 1) ? count.moe_per_layer : count.dense_mlp_per_layer;
  count.mtp = m.mtp_layers * (2 * h * h + 3 * norm + mixer_parameters(m, m.mtp_traits) +
                              around_halves(m, m.mtp_traits) + (m.mtp_traits.mlp ? last_mlp : 0));
  return count;
}

// Model FLOPs of a token (docs/MODEL.md section 2): 6 per multiply-add of the forward pass.

namespace {

// Multiply-adds of a layer's MLP per token: what the token passes through.
double mlp_work(const ModelSpec& m, bool moe) {
  const double h = static_cast<double>(m.hidden), matrices = m.gated_mlp ? 3 : 2;
  if (!moe) return h * matrices * static_cast<double>(m.ffn);
  const MoeSpec& e = *m.moe;
  const double latent = static_cast<double>(e.latent), width = e.latent > 0 ? latent : h;
  return matrices * (width * static_cast<double>(e.ffn * e.top_k) +
                     h * static_cast<double>(e.shared_ffn)) +
         2 * h * latent;
}

}  // namespace

Flops model_flops_per_token(const ModelSpec& m, std::int64_t seq_len, FlopsConvention convention) {
  const auto layer = [&](const LayerTraits& t, bool moe) {
    return mixer_linear(m, t) + mixer_core(m, t, seq_len, convention) +
           (t.mlp ? mlp_work(m, moe) : 0);
  };
  const double h = static_cast<double>(m.hidden), mtp = static_cast<double>(m.mtp_layers);
  double work = h * static_cast<double>(m.vocab) * (1 + mtp);
  for (std::int64_t l = 0; l < m.layers; ++l) work += layer(m.traits(l), m.is_moe(l));
  work += mtp * (layer(m.mtp_traits, m.is_moe(m.layers - 1)) + 3 * h + 2 * h * h);
  return Flops(6 * work);
}

}  // namespace pleat
