// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/layer_rows.hpp"

#include "core/plan/expert_slots.hpp"
#include "core/program/program.hpp"
#include "core/spec/expert_load.hpp"

namespace pleat {

LayerRows::LayerRows(const ModelSpec& model, const WorkloadSpec& w, const Plan& plan) {
  if (!model.moe) return;
  const auto rows = [&](double over_mean) {
    return balanced_routed_tokens(model, w, plan, over_mean);
  };
  alike_.routed = rows(rank_imbalance(w, *model.moe, -1, plan.expert));
  const PagedStash& stash = plan.paged_stash;
  if (stash.buffer > 0) {
    alike_.room = rows(stash.capacity);
    alike_.stashed = rows(stash.buffer);
  }
  if (w.routing != Routing::natural) return;
  for (const double factor : rank_imbalances(w, *model.moe, plan.expert)) {
    of_loads_.push_back(rows(factor));
  }
}

Binding LayerRows::of(const LayerProgram& layer) const {
  Binding binding = alike_;
  if (layer.loads.empty()) return binding;
  const auto count = static_cast<std::int64_t>(layer.loads.size());
  binding.routed = count - 1;  // the mean, rounded up
  for (const int i : layer.loads) binding.routed += of_loads_[static_cast<std::size_t>(i)];
  binding.routed /= count;
  return binding;
}

std::optional<BusiestRanks> busiest_ranks(const ModelSpec& model, const WorkloadSpec& w,
                                          const Plan& plan) {
  if (!model.moe || w.routing != Routing::natural || plan.expert.ep == 1) return std::nullopt;
  BusiestRanks busiest;
  double sum = 0;
  std::int64_t layers = 0;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    if (!model.is_moe(l)) continue;
    const int loads = loads_of_layer(w, model, static_cast<int>(l));
    const double factor = rank_imbalance(w, *model.moe, loads, plan.expert);
    if (layers == 0 || factor > busiest.most) busiest = {.most = factor, .layer = l};
    sum += factor;
    ++layers;
  }
  if (layers == 0) return std::nullopt;
  busiest.mean = sum / static_cast<double>(layers);
  if (busiest.most == 1 && busiest.mean == 1) return std::nullopt;
  return busiest;
}

}  // namespace pleat
