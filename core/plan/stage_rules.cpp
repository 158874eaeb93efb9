// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of what single stages recompute and offload: the stages named exist, and the plan that each
// of them follows keeps every other rule.
#include <fmt/format.h>

#include <string_view>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/stage_override.hpp"

namespace pleat::rules {
namespace {

constexpr const char* kStages = "stages";

bool in_order(const PlanContext& c, std::size_t i) {
  const int stage = c.plan.stages[i].stage;
  const int least = i == 0 ? 0 : c.plan.stages[i - 1].stage + 1;
  return stage >= least && stage < c.plan.attention.pp;
}

// The first other rule that the stage's own plan breaks though the plan as a whole does not.
const Constraint* broken_by(const PlanContext& c, const Plan& own) {
  const PlanContext stage{c.model, c.workload, own, c.gpus};
  for (const Constraint& rule : constraints()) {
    if (rule.name != std::string_view(kStages) && rule.holds(c) && !rule.holds(stage)) return &rule;
  }
  return nullptr;
}

bool stages_hold(const PlanContext& c) {
  for (std::size_t i = 0; i < c.plan.stages.size(); ++i) {
    if (!in_order(c, i)) return false;
    if (broken_by(c, plan_of_stage(c.plan, Stage{c.plan.stages[i].stage})) != nullptr) return false;
  }
  return true;
}

Violation explain_stages(const PlanContext& c) {
  for (std::size_t i = 0; i < c.plan.stages.size(); ++i) {
    const int stage = c.plan.stages[i].stage;
    const std::string at = fmt::format("stages[{}]", i);
    if (!in_order(c, i)) {
      return {"", at + ".stage",
              fmt::format("stage {} of {}: stages are named once, in ascending order", stage,
                          c.plan.attention.pp),
              fmt::format("0 to {}", c.plan.attention.pp - 1)};
    }
    const Plan own = plan_of_stage(c.plan, Stage{stage});
    if (const Constraint* rule = broken_by(c, own)) {
      Violation v = rule->explain({c.model, c.workload, own, c.gpus});
      v.path = at + "." + v.path;
      v.message = fmt::format("stage {}: {} ({})", stage, v.message, rule->name);
      return v;
    }
  }
  return {};
}

}  // namespace

void append_stage_rules(std::vector<Constraint>& list) {
  list.push_back({kStages, stages_hold, explain_stages});
}

}  // namespace pleat::rules
