// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of experts that are placed by load, and of copies of busy ones (expert_slots.hpp).
#include <fmt/format.h>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/expert_slots.hpp"

namespace pleat::rules {
namespace {

bool by_load(const PlanContext& c) {
  return c.plan.expert.placement == ExpertPlacement::by_load;
}

// --- placement
bool placement_ranks_hold(const PlanContext& c) {
  return !by_load(c) || (c.model.moe && c.plan.expert.ep > 1);
}
Violation explain_placement_ranks(const PlanContext& c) {
  return {"", "expert.placement",
          c.model.moe ? "one rank has all experts: there is nothing to place with EP 1"
                      : fmt::format("{} has no experts to place", c.model.name),
          "in_order"};
}

bool placement_loads_hold(const PlanContext& c) {
  const WorkloadSpec& w = c.workload;
  return !by_load(c) || (w.routing == Routing::natural && !w.expert_loads.empty());
}
Violation explain_placement_loads(const PlanContext&) {
  return {"", "expert.placement", "experts are placed by their loads, which are not known",
          "natural routing with workload.expert_loads (--routing FILE), or in_order"};
}

// Experts that are picked together stay together: the exchange reaches no more ranks than with
// experts in order.
bool placement_groups_hold(const PlanContext& c) {
  if (!by_load(c) || !c.model.moe) return true;
  return c.plan.expert.ep % placement_blocks(*c.model.moe) == 0;
}
Violation explain_placement_groups(const PlanContext& c) {
  const std::int64_t groups = placement_blocks(*c.model.moe);
  return {"", "expert.placement",
          fmt::format("a token's experts come from {} of {} routing groups, which stay on ranks of "
                      "their own: EP {} cannot be split over them",
                      c.model.moe->top_groups, groups, c.plan.expert.ep),
          fmt::format("a multiple of {}, or in_order", groups)};
}

bool placement_scales_hold(const PlanContext& c) {
  return !by_load(c) || c.plan.precision != Precision::fp8_delayed;
}
Violation explain_placement_scales(const PlanContext&) {
  return {"", "expert.placement",
          "fp8_delayed keeps the amax of experts in order, for checkpoints of any layout",
          "in_order, or precision fp8"};
}

// --- copies
bool redundant_placement_holds(const PlanContext& c) {
  return c.plan.expert.redundant == 0 || by_load(c);
}
Violation explain_redundant_placement(const PlanContext& c) {
  return {"", "expert.redundant",
          fmt::format("{} copies of busy experts on each rank need experts that are placed by load",
                      c.plan.expert.redundant),
          "expert.placement by_load, or 0"};
}

bool redundant_most_holds(const PlanContext& c) {
  if (c.plan.expert.redundant == 0 || !c.model.moe || !degrees_positive(c)) return true;
  const int redundant = c.plan.expert.redundant;
  return redundant > 0 && redundant <= most_redundant(*c.model.moe, c.plan.expert);
}
Violation explain_redundant_most(const PlanContext& c) {
  return {"", "expert.redundant",
          fmt::format("a rank of EP {} has {} experts of {}: {} more are too many",
                      c.plan.expert.ep, c.model.moe->experts / c.plan.expert.ep,
                      c.model.moe->experts, c.plan.expert.redundant),
          fmt::format("0 to {}", most_redundant(*c.model.moe, c.plan.expert))};
}

bool redundant_sharding_holds(const PlanContext& c) {
  return c.plan.expert.redundant == 0 || c.plan.sharding == Sharding::none ||
         c.plan.sharding == Sharding::zero1;
}
Violation explain_redundant_sharding(const PlanContext& c) {
  return {"", "expert.redundant",
          fmt::format("the gradients of copies are added up before they are sharded, {} shards "
                      "them layer by layer",
                      name_of(c.plan.sharding)),
          "sharding none or zero1, or 0"};
}

bool redundant_optimizer_holds(const PlanContext& c) {
  return c.plan.expert.redundant == 0 || c.plan.optimizer.kind != OptimizerKind::lamb;
}
Violation explain_redundant_optimizer(const PlanContext&) {
  return {"", "expert.redundant",
          "lamb steps by the norm of a rank's experts together, copies would count twice",
          "another optimizer, or 0"};
}

bool redundant_capacity_holds(const PlanContext& c) {
  return c.plan.expert.redundant == 0 || !c.workload.pad_to_capacity;
}
Violation explain_redundant_capacity(const PlanContext&) {
  return {"", "expert.redundant", "experts padded to a capacity are all as busy", "0"};
}

}  // namespace

void append_placement_rules(std::vector<Constraint>& list) {
  list.push_back({"placement-ranks", placement_ranks_hold, explain_placement_ranks});
  list.push_back({"placement-loads", placement_loads_hold, explain_placement_loads});
  list.push_back({"placement-groups", placement_groups_hold, explain_placement_groups});
  list.push_back({"placement-scales", placement_scales_hold, explain_placement_scales});
  list.push_back({"redundant-placement", redundant_placement_holds, explain_redundant_placement});
  list.push_back({"redundant-most", redundant_most_holds, explain_redundant_most});
  list.push_back({"redundant-sharding", redundant_sharding_holds, explain_redundant_sharding});
  list.push_back({"redundant-optimizer", redundant_optimizer_holds, explain_redundant_optimizer});
  list.push_back({"redundant-capacity", redundant_capacity_holds, explain_redundant_capacity});
}

}  // namespace pleat::rules
