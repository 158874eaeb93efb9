// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Model FLOPs of a token (docs/MODEL.md section 2): 6 per multiply-add of the forward pass.
#include "core/spec/mixer_size.hpp"
#include "core/spec/model.hpp"

namespace pleat {
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
