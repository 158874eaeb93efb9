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

BandUse band_use(const ModelSpec& model, const Plan& plan) {
  const bool nccl = !is_fused(plan.dispatcher);
  return {.experts = model.moe.has_value(),
          .nccl_exchange = model.moe && plan.expert.ep > 1 && nccl,
          .sharded = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3,
          .hybrid = is_hybrid(model)};
}

double relative_band(const ModelSpec& model, const Plan& plan, const Profile& profile) {
  const BandTerms& terms = profile.band_terms;
  const BandUse use = band_use(model, plan);
  double variance = profile.relative_band * profile.relative_band;
  const auto add = [&](bool applies, double term) {
    if (applies) variance += term * term;
  };
  add(true, terms.era);
  add(use.experts, terms.experts);
  add(use.nccl_exchange, terms.nccl_exchange);
  add(use.sharded, terms.sharded);
  add(use.hybrid, terms.hybrid);
  const double times = beyond_runs(plan.world(), profile);
  add(times > 1, terms.doubling * std::log2(times));
  return std::sqrt(variance);
}

LearnedVector learned_shares(const CostVector& parts) {
  const auto part = [&](CostClass c) { return parts[static_cast<std::size_t>(c)].base(); };
  LearnedVector shares{};
  auto& [compute, memory, exchange, host] = shares;
  compute = part(CostClass::gemm) + part(CostClass::grouped_gemm) + part(CostClass::attention);
  memory = part(CostClass::memory_bound) + part(CostClass::optimizer);
  exchange = part(CostClass::tp_comm) + part(CostClass::cp_comm) + part(CostClass::ep_comm) +
             part(CostClass::pp_comm) + part(CostClass::dp_comm);
  host = part(CostClass::host);
  const double busy = compute + memory + exchange + host + part(CostClass::offload);
  if (busy <= 0) return {};
  for (double& share : shares) share /= busy;
  return shares;
}

double learned_band(const CostVector& parts, const Profile& profile) {
  if (!profile.learned) return 0;
  const Learned& learned = *profile.learned;
  const LearnedVector shares = learned_shares(parts);
  double left = 0, prior = 0, most = 0;
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    const double error = learned.constants[i].prior_error;
    prior += shares[i] * shares[i] * error * error;
    most = std::max(most, error * error);
    for (std::size_t j = 0; j < kLearnedKinds; ++j) {
      left += shares[i] * learned.covariance[i][j] * shares[j];
    }
  }
  constexpr double kSquare = kBandDeviations * kBandDeviations;
  const double least = profile.relative_band * profile.relative_band;
  const double spread = std::max(0.0, kSquare * learned.noise * learned.noise - least);
  const double unused = std::min(spread, kSquare * std::max(0.0, most - prior));
  return std::sqrt(std::max(0.0, kSquare * left) + unused);
}

void set_band(StepEstimate& e, const ModelSpec& model, const Plan& plan, const Profile& profile) {
  e.relative_band = relative_band(model, plan, profile);
  if (profile.learned)
    e.relative_band = std::hypot(e.relative_band, learned_band(e.parts, profile));
  e.low = e.step * (1.0 - e.relative_band);
  e.high = e.step * (1.0 + e.relative_band);
}

}  // namespace pleat
