// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/uncertainty.hpp"

#include <algorithm>
#include <cmath>

#include "core/plan/dispatcher_traits.hpp"

namespace pleat {
namespace {

bool is_hybrid(const ModelSpec& model) {
  if (model.attention.kind == AttentionKind::compressed) return true;
  return std::ranges::any_of(model.layer_traits, [](const LayerTraits& layer) {
    return layer.sparse || (layer.mixer != Mixer::attention && layer.mixer != Mixer::none);
  });
}

}  // namespace

double beyond_runs(int gpus, const Profile& profile) {
  const int largest = profile.band_terms.largest_run;
  return largest > 0 ? std::max(1.0, static_cast<double>(gpus) / largest) : 1.0;
}

double relative_band(const ModelSpec& model, const Plan& plan, const Profile& profile) {
  const BandTerms& terms = profile.band_terms;
  double variance = profile.relative_band * profile.relative_band;
  const auto add = [&](bool applies, double term) {
    if (applies) variance += term * term;
  };
  const bool nccl = !is_fused(plan.dispatcher);
  add(true, terms.era);
  add(model.moe.has_value(), terms.experts);
  add(model.moe && plan.expert.ep > 1 && nccl, terms.nccl_exchange);
  add(plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3, terms.sharded);
  add(is_hybrid(model), terms.hybrid);
  const double times = beyond_runs(plan.world(), profile);
  add(times > 1, terms.doubling * std::log2(times));
  return std::sqrt(variance);
}

void set_band(StepEstimate& e, const ModelSpec& model, const Plan& plan, const Profile& profile) {
  e.relative_band = relative_band(model, plan, profile);
  e.low = e.step * (1.0 - e.relative_band);
  e.high = e.step * (1.0 + e.relative_band);
}

}  // namespace pleat
