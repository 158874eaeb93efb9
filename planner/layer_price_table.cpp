// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layer_price_table.hpp"

#include <algorithm>

#include "planner/parallel_rounds.hpp"
#include "simulator/contention.hpp"
#include "simulator/layer_timeline.hpp"

namespace pleat {
namespace {

// Whether the pair pass leaves it on the compute stream: only the experts' exchange moves.
bool stays_under_overlap(CostClass cls) {
  switch (cls) {
    case CostClass::gemm:
    case CostClass::grouped_gemm:
    case CostClass::attention:
    case CostClass::memory_bound:
    case CostClass::optimizer:
      return true;
    case CostClass::tp_comm:
    case CostClass::cp_comm:
    case CostClass::ep_comm:
    case CostClass::pp_comm:
    case CostClass::dp_comm:
    case CostClass::host:
    case CostClass::offload:
    case CostClass::bubble:
      return false;
  }
  return false;
}

// `exchange`: what a second of expert exchange costs compute beside it.
Seconds part_under_overlap(const PassCost& pass, double exchange) {
  Seconds sum = pass.parts[static_cast<std::size_t>(CostClass::ep_comm)] * exchange;
  for (std::size_t c = 0; c < kCostClasses; ++c) {
    if (stays_under_overlap(static_cast<CostClass>(c))) sum += pass.parts[c];
  }
  return sum;
}

}  // namespace

LayerKey layer_key(const Plan& plan) {
  // tp, cp, ep and etp groups are the innermost ones: where they lie does not depend on how many
  // replicas and stages there are.
  return {.tp = plan.attention.tp,
          .cp = plan.attention.cp,
          .etp = plan.expert.etp,
          .ep = plan.expert.ep,
          .micro_batch = plan.micro_batch,
          .recompute = plan.recompute,
          .recompute_full = plan.recompute_full};
}

LayerKey without_recompute(LayerKey key) {
  key.recompute.clear();
  key.recompute_full = false;
  return key;
}

LayerPriceTable::LayerPriceTable(const ModelSpec& model, const ClusterSpec& cluster,
                                 const WorkloadSpec& workload, const Profile& profile,
                                 Runtime runtime, int threads)
    : model_(model),
      cluster_(cluster),
      workload_(workload),
      profile_(profile),
      runtime_(runtime),
      threads_(threads) {}

void LayerPriceTable::prepare(const std::vector<const Plan*>& plans, bool bare) {
  std::vector<std::pair<LayerPrices*, Plan>> missing;
  for (const Plan* plan : plans) {
    LayerKey key = layer_key(*plan);
    if (bare) key = without_recompute(std::move(key));
    const auto [entry, is_new] = table_.try_emplace(key);
    if (!is_new) continue;
    Plan representative = *plan;
    representative.recompute = key.recompute;
    representative.recompute_full = key.recompute_full;
    missing.emplace_back(&entry->second, std::move(representative));
  }
  for_each_in_parallel(missing.size(), threads_,
                       [&](std::size_t i) { *missing[i].first = price_layers(missing[i].second); });
}

LayerPrices LayerPriceTable::price_layers(Plan plan) const {
  const ClusterView view = view_cluster(cluster_, plan);  // of the whole job
  // All layers on one stage, one microbatch: the layer programs are the same ones.
  plan.attention.pp = 1;
  plan.vpp = 1;
  plan.layout.clear();
  plan.microbatch_group = 0;
  WorkloadSpec one = workload_;
  one.global_batch = std::int64_t{plan.attention.dp} * plan.micro_batch;
  const StageProgram stage = compile_stage(model_, one, plan, runtime_, Stage{0});
  const Binding balanced{.routed = balanced_routed_tokens(model_, one, plan)};

  const double exchange = least_cost_of_exchange(view, profile_);

  LayerPrices prices;
  for (const LayerProgram& layer : stage.layers) {
    const auto kind = static_cast<std::size_t>(layer.kind);
    PLEAT_ASSERT(kind < prices.kinds.size());  // one stage neither sends nor receives
    const LayerCosts costs = price(layer, balanced, balanced, view, profile_);
    prices.kinds[kind] = {
        .forward = costs.forward.time,
        .backward = costs.backward.time,
        .overlapped = part_under_overlap(costs.forward, exchange) +
                      part_under_overlap(costs.backward, exchange) +
                      host_of_pass(layer, Pass::forward, view, profile_) +
                      host_of_pass(layer, Pass::backward, view, profile_),
        .saved = costs.forward.memory.net,
        .weights = {costs.weight_elements[0], costs.weight_elements[1]}};
    if (layer.output) {
      prices.output_bytes =
          std::max(prices.output_bytes, layer.tensor(*layer.output).bytes(balanced));
    }
  }
  return prices;
}

}  // namespace pleat
