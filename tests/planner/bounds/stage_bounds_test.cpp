// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of a memory choice of one stage hold whatever the other stages choose.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/plan/constraints.hpp"
#include "core/program/compile_stage.hpp"
#include "planner/bounds/one_choice_bounds.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;

StageOverride override_with(const MemoryChoice& c, int stage) {
  return {.stage = stage,
          .recompute = c.recompute.modules,
          .recompute_full = c.recompute.full,
          .recompute_layers = c.recompute.layers,
          .recompute_unit = c.recompute.unit,
          .offload = c.offload};
}

struct Drawn {
  int plans = 0, orders = 0;
  double most_time = 0, most_bytes = 0;  // of what the plan takes
};

// Every stage of the plan gets a choice of its own.
void check(const RandomCase& c, Plan plan, const std::vector<MemoryChoice>& choices,
           const ChoiceWays& ways, CaseMaker& maker, Drawn& drawn) {
  MemoryChoice{}.put_into(plan);
  const Plan plain = plan;
  std::vector<std::size_t> chosen;
  for (int s = 0; s < plan.attention.pp; ++s) {
    chosen.push_back(static_cast<std::size_t>(maker.pick(static_cast<int>(choices.size()))));
    const MemoryChoice& own = choices[chosen.back()];
    if (own.by_stage || own.state != StatePlace::device || own.offload_layers > 0) return;
    plan.stages.push_back(override_with(own, s));
  }
  if (!violations({c.model, c.workload, plan, c.config.gpus}).empty()) return;
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
  BoundTable table(estimator, c, c.config.runtime);
  const StepEstimate e = estimator(plan);
  constexpr double kRounded = 1 + 1e-9;
  for (const Seconds cutoff : {e.step, Seconds(std::numeric_limits<double>::infinity())}) {
    OneChoiceBounds bounds(table, plain, schedule_of(plain, c.workload), ways, cutoff);
    for (std::size_t s = 0; s < chosen.size(); ++s) {
      bounds.set(ways.choices[chosen[s]]);
      const Seconds step = bounds.step_of_stage(s);
      const std::int64_t bytes = bounds.bytes_of_stage(s);
      EXPECT_LE(step.base(), e.step.base() * kRounded) << summary(plan) << " stage " << s;
      EXPECT_LE(bytes, e.memory[s].peak) << summary(plan) << " stage " << s;
      drawn.most_time = std::max(drawn.most_time, step / e.step);
      drawn.most_bytes = std::max(
          drawn.most_bytes, static_cast<double>(bytes) / static_cast<double>(e.memory[s].peak));
    }
  }
  ++drawn.plans;
  drawn.orders += splits_backward(plan.schedule);
}

TEST(StageBounds, HoldWhateverOtherStagesChoose) {
  CaseMaker maker(41, true);
  Drawn drawn;
  for (int i = 0; i < 60; ++i) {
    const RandomCase c = maker.make(800);
    const std::vector<MemoryChoice> choices = memory_choices(c.model, c.cluster, c.config);
    const ChoiceWays ways(choices);
    for (const SpacePlan& p : enumerate_plans(c, c.config)) {
      if (p.plan.attention.pp == 1 || maker.chance(0.9)) continue;
      check(c, p.plan, choices, ways, maker, drawn);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(drawn.plans, 100);
  EXPECT_GT(drawn.orders, 5);
  EXPECT_GT(drawn.most_time, 0.9);
  EXPECT_GT(drawn.most_bytes, 0.9);
}

}  // namespace
}  // namespace pleat
