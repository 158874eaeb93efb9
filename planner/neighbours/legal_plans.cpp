// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/legal_plans.hpp"

#include <algorithm>

#include "core/plan/plan_table.hpp"
#include "core/plan/stage_override.hpp"
#include "planner/neighbours/allowed_values.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

// Calls visit(field of `plan`, field of a plain plan) for each field that may be set back to that
// of a plain plan: all that a search chooses but degrees and the row `but`.
template <class Visit>
void visit_techniques(Plan& plan, std::size_t but, Visit&& visit) {
  static const Plan plain;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.chosen_by == ChosenBy::search && !field.parts.has(MemoPart::places)) {
      if (i != but) visit(field.in(plan), field.in(plain));
    }
  });
}

}  // namespace

void put_dependent(Plan& p) {
  p.sequence_parallel = p.attention.tp > 1;
  p.optimizer.cpu_offload_overlapped = p.optimizer.cpu_offload > 0;
  if (p.expert.ep == 1) p.expert.placement = ExpertPlacement::in_order;
  if (p.expert.placement == ExpertPlacement::in_order) p.expert.redundant = 0;
  if (p.vpp == 1 || p.schedule != PipelineSchedule::one_f_one_b) p.microbatch_group = 0;
  if (p.cp_comm != CpComm::a2a_p2p) p.cp_a2a = 0;
  if (!p.overlap.expert_parallel) p.overlap.delay_wgrad = false;
  if (!p.recompute_full) {
    p.recompute_layers = 0;
    p.recompute_unit = 1;
  }
}

bool LegalPlans::change(const Plan& base, const PlanChange& change, Plan& plan) {
  PlanChange own = change;
  if (is_least_share(change)) {  // some share must be allowed, and all
    own.value = 0.5;
    put(own, plan);
    if (!follow(base, plan)) return false;
    own.value = 1;
  }
  put(own, plan);
  return follow(base, plan);
}

bool LegalPlans::follow(const Plan& base, Plan& p) {
  AttentionMapping& a = p.attention;
  const std::int64_t ranks = std::int64_t{a.tp} * a.cp * a.pp;
  const std::int64_t expert_ranks = std::int64_t{p.expert.etp} * p.expert.ep * a.pp;
  if (ranks <= 0 || expert_ranks <= 0 || p.vpp <= 0) return false;
  if (config_.gpus % ranks != 0 || config_.gpus % expert_ranks != 0) return false;
  a.dp = static_cast<int>(config_.gpus / ranks);
  p.expert.edp = static_cast<int>(config_.gpus / expert_ranks);
  put_dependent(p);
  // A number of SMs is chosen for one dispatcher: another one takes the profile's.
  if (p.dispatcher != base.dispatcher && p.dispatcher_sms == base.dispatcher_sms) {
    p.dispatcher_sms = 0;
  }
  if (a.pp != base.attention.pp || p.vpp != base.vpp) {
    if (config_.pin<"layout">().empty()) p.layout = layout_of(a.pp, p.vpp);
    std::erase_if(p.stages, [&](const StageOverride& s) { return s.stage >= a.pp; });
    if (a.pp == 1) p = plan_of_stage(p, Stage{0});
  }
  return allows(problem_, config_, p);
}

const std::string& LegalPlans::layout_of(int pp, int vpp) {
  const auto [known, fresh] = layouts_.try_emplace({pp, vpp});
  if (fresh && std::int64_t{pp} * vpp <= problem_.model.layers) {
    known->second = layout_choices(problem_.model, problem_.workload.seq_len, pp, vpp).back();
  }
  return known->second;
}

const Constraint* LegalPlans::broken(const Plan& plan) const {
  const PlanContext context{problem_.model, problem_.workload, plan, config_.gpus};
  for (const Constraint& rule : constraints()) {
    if (!rule.holds(context)) return &rule;
  }
  return nullptr;
}

std::string_view LegalPlans::refused(const Plan& plan) const {
  const char* const rule = refused_by(config_.runtime, problem_.model, problem_.workload, plan,
                                      problem_.cluster.gpu);
  return rule == nullptr ? "" : rule;
}

bool LegalPlans::legal(const Plan& plan) const {
  return broken(plan) == nullptr && refused(plan).empty() &&
         builds_layout(config_.runtime, problem_.model, plan);
}

std::optional<Plan> LegalPlans::cured(Plan plan, std::size_t row) const {
  for (int cure = 0; cure < 3; ++cure) {
    const Constraint* const rule = broken(plan);
    const std::string_view refusal = rule == nullptr ? refused(plan) : "";
    if (rule == nullptr && refusal.empty()) break;
    const auto holds_for = [&](const Plan& p) {
      return rule != nullptr
                 ? rule->holds({problem_.model, problem_.workload, p, config_.gpus})
                 : refused(p) != refusal;
    };
    bool holds = false;
    std::optional<Plan> without;
    visit_techniques(plan, row, [&](auto& field, const auto& plain) {
      if (holds || field == plain) return;
      auto own = std::exchange(field, plain);
      without = plan;
      field = std::move(own);
      put_dependent(*without);
      holds = holds_for(*without) && allows(problem_, config_, *without);
    });
    if (!holds) return {};
    plan = std::move(*without);
  }
  if (!legal(plan)) return {};
  return plan;
}

}  // namespace pleat
