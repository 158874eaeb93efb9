// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/report/step_inputs.hpp"

#include <algorithm>
#include <memory>

namespace pleat {
namespace {

// A faster or slower link: the smallest message is mostly latency, which stays; all time beyond
// that is divided by the factor.
CollectiveTable scaled(const CollectiveTable& table, double factor) {
  CollectiveTable changed = table;
  for (auto& of_collective : changed.series) {
    for (CollectiveSeries& s : of_collective) {
      const double latency = s.seconds.front();
      for (double& t : s.seconds) t = latency + (t - latency) / factor;
    }
  }
  return changed;
}

// The link, and what was measured over it: expert exchanges between nodes go over all outer tiers.
void scale_tier(Problem& g, std::size_t tier, double factor) {
  g.cluster.tiers[tier].bandwidth *= factor;
  for (DispatchRate& r : g.profile.dispatch) {
    if ((r.tier == 0) != (tier == 0)) continue;
    r.dispatch *= factor;
    r.combine *= factor;
  }
  auto& times = g.profile.collective_times;
  if (tier == 0 && times) {
    times = {std::make_shared<const CollectiveTable>(scaled(*times, factor))};
  }
}

void scale_memory_bandwidth(Problem& g, double factor) {
  g.cluster.gpu.memory_bandwidth *= factor;
  for (GemmLaw& law : g.profile.gemm.by_math) law.bandwidth *= factor;
}

void scale_matrix_products(Problem& g, double factor) {
  SustainedClock& clock = g.profile.sustained_clock;
  for (double* rate : {&clock.gemm_bf16, &clock.gemm_fp8, &clock.gemm_fp4}) *rate *= factor;
}

void scale_host_time(Problem& g, double factor) {
  Profile& p = g.profile;
  for (ByGraph* layer : {&p.host_per_moe_layer, &p.host_per_dense_layer}) {
    for (Seconds* t : {&layer->none, &layer->router, &layer->partial, &layer->full_iteration}) {
      *t *= factor;
    }
  }
  for (Seconds* t : {&p.host_per_op, &p.host_busy_per_layer, &p.host_per_head,
                     &p.host_per_sharded_weight, &p.step_overhead}) {
    *t *= factor;
  }
}

void scale_imbalance(Problem& g, double factor) {
  WorkloadSpec& w = g.workload;
  const double now = w.routing == Routing::natural ? w.imbalance : 1.0;
  const bool known = w.expert_spread > 0 || !w.expert_loads.empty();  // what it is on top of
  w.routing = Routing::natural;
  w.imbalance = known ? now * factor : std::max(1.0, now * factor);
}

}  // namespace

std::vector<StepInput> step_inputs(const ModelSpec& model, const ClusterSpec& cluster) {
  std::vector<StepInput> inputs;
  for (std::size_t tier = 0; tier < cluster.tiers.size(); ++tier) {
    inputs.push_back({cluster.tiers[tier].name + " bandwidth",
                      [tier](Problem& g, double f) { scale_tier(g, tier, f); }});
  }
  inputs.push_back({"memory bandwidth", scale_memory_bandwidth});
  inputs.push_back(
      {"device memory", [](Problem& g, double f) { g.cluster.gpu.memory *= f; }, false});
  inputs.push_back({"matrix product rate", scale_matrix_products});
  inputs.push_back({"host time", scale_host_time});
  if (model.moe) inputs.push_back({"expert imbalance", scale_imbalance, true, true});
  return inputs;
}

}  // namespace pleat
