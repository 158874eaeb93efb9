// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/launch/plan_launch.hpp"

#include <fmt/format.h>

#include "interop/exported.hpp"

namespace pleat {

bool launches_on_gpus(interop::Trainer trainer, const ClusterSpec& cluster) {
  return trainer == interop::Trainer::megatron || cluster.shared_cores == 0;
}

interop::Exported launch_arguments(const PlanDocument& document, const std::string& plan_file,
                                   interop::Trainer trainer, const ClusterSpec& cluster,
                                   const std::string& version) {
  if (trainer == interop::Trainer::pleat)
    return interop::pleat_arguments(plan_file, launches_on_gpus(trainer, cluster), version);
  const bool before_blackwell = cluster.gpu.peak_fp4.base() <= 0;  // tensor cores with FP4
  return interop::export_plan(interop::Target::megatron, {document, before_blackwell}, plan_file);
}

interop::Launch launch_of(const PlanDocument& d, const interop::Exported& exported,
                          interop::Trainer trainer, const ClusterSpec& cluster, int gpus_per_node,
                          const interop::LaunchSlots& slots) {
  const int domain = cluster.tiers.front().size;
  return {
      .exported = exported,
      .trainer = trainer,
      .on_gpus = launches_on_gpus(trainer, cluster),
      .title = fmt::format("{} on {} x {}: {}", d.model_name, d.gpus, d.cluster, summary(d.plan)),
      .gpus = d.gpus,
      .gpus_per_node = gpus_per_node > 0 ? gpus_per_node : cluster.gpus_per_node,
      .nvlink_domain = domain > 0 ? domain : cluster.gpus_per_node,
      .expert_parallel = d.plan.expert.ep,
      .hybridep = d.model.moe && d.plan.dispatcher == Dispatcher::hybridep,
      .moe = d.model.moe.has_value(),
      .binds = !d.workload.unbound_ranks,
      .slots = slots};
}

}  // namespace pleat
