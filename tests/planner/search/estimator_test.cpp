// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The estimator that remembers against the estimate that prices everything anew, on plans drawn at
// random and in an order in which they share layers, stages and schedules. Each field of a plan is
// changed alone too: one that its row in core/plan/plan_table.hpp keeps out of a key fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "core/spec/catalog.hpp"
#include "planner/bounds/bounds.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/search/small_case.hpp"
#include "tests/planner/space/every_plan.hpp"
#include "tests/support/plan_mutation.hpp"

namespace pleat {
namespace {

void expect_same(const StepEstimate& a, const StepEstimate& b, const Plan& plan) {
  SCOPED_TRACE(summary(plan));
  EXPECT_EQ(a.step.base(), b.step.base());
  EXPECT_EQ(a.low.base(), b.low.base());
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.fits, b.fits);
  EXPECT_EQ(a.host_bytes, b.host_bytes);
  EXPECT_EQ(a.mfu, b.mfu);
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (std::size_t s = 0; s < a.memory.size(); ++s) {
    const StageMemory &x = a.memory[s], &y = b.memory[s];
    EXPECT_EQ(x.stage, y.stage);
    EXPECT_EQ(std::tie(x.weights, x.gradients, x.optimizer, x.activations, x.runtime, x.peak,
                       x.outside, x.host),
              std::tie(y.weights, y.gradients, y.optimizer, y.activations, y.runtime, y.peak,
                       y.outside, y.host));
    EXPECT_EQ(a.stages[s].busy.base(), b.stages[s].busy.base());
    EXPECT_EQ(a.stages[s].bubble.base(), b.stages[s].bubble.base());
  }
}

// Changes fields of plans, each as often as any other, and counts those plans that may be run.
class Changes {
 public:
  explicit Changes(std::mt19937& random) : random_(random), mutation_(random) {}

  // Another value of one field, and of those that go with it. Degrees are the meshes' to vary.
  std::size_t change(Plan& plan) {
    std::size_t row = 0;
    do row = random_() % kPlanFieldCount;
    while (is_degree(row));
    mutation_.change(plan, row);
    settle(plan, row);
    return row;
  }
  void change_stages(Plan& plan) { mutation_.change(plan, index_of("stages")); }

  void count(std::size_t row) { ++valid_[row]; }
  void expect_every_field() const {
    for_each_plan_field([&](auto i) {
      if (!is_degree(i)) {
        EXPECT_GT(valid_[i], 0) << kPlanField<i>.path;
      }
    });
  }

 private:
  static bool is_degree(std::size_t row) {
    bool degree = false;
    for_each_plan_field([&](auto i) {
      if (i == row) degree = kPlanField<i>.parts.has(MemoPart::places) || i == index_of("vpp");
    });
    return degree;
  }
  static constexpr std::size_t index_of(std::string_view path) {
    std::size_t index = kPlanFieldCount;
    for_each_plan_field([&](auto i) {
      if (kPlanField<i>.path == path) index = i;
    });
    return index;
  }

  // What the rules of plans want beside the field.
  void settle(Plan& plan, std::size_t row) {
    const auto pick = [&](unsigned count) { return static_cast<int>(random_() % count); };
    if (row == index_of("schedule")) {
      const bool v = plan.schedule == PipelineSchedule::zb_v ||
                     plan.schedule == PipelineSchedule::dualpipe_v;
      plan.vpp = v ? 2 : 1;
      plan.layout.clear();
    }
    if (row == index_of("dispatcher_sms")) plan.dispatcher_sms *= 8;
    if (row == index_of("expert.placement")) plan.expert.redundant = 0;
    if (row == index_of("expert.redundant") && plan.expert.redundant > 0) {
      plan.expert.placement = ExpertPlacement::by_load;
      plan.expert.redundant = 1 + pick(2);
    }
    if (row == index_of("paged_stash.buffer")) plan.paged_stash = {1.0 + 0.1 * pick(3), 1.2};
    if (row == index_of("paged_stash.capacity")) plan.paged_stash = {1.1, 1.0 + 0.1 * pick(6)};
    if (row == index_of("recompute_full") && plan.recompute_full) plan.recompute.clear();
    if (row == index_of("recompute_full") && !plan.recompute_full) {
      plan.recompute_layers = 0;
      plan.recompute_unit = 1;
    }
    if (row == index_of("recompute_unit")) {
      plan.recompute = {};
      plan.recompute_full = true;
      plan.recompute_layers = 0;
    }
    if (row == index_of("recompute_layers")) {
      plan.recompute = {};
      plan.recompute_full = true;
      plan.recompute_unit = 1;
    }
    if (row == index_of("recompute") || row == index_of("offload_layers")) {
      plan.recompute_full = false;
      plan.recompute_layers = 0;
      plan.recompute_unit = 1;
    }
    if (row == index_of("cp_a2a") && plan.cp_a2a > 0) plan.cp_comm = CpComm::a2a_p2p;
    if (row == index_of("layout")) plan.layout.clear();
    if (row == index_of("fsdp_group") && plan.fsdp_group > 0) plan.sharding = Sharding::zero3;
  }

  std::mt19937& random_;
  test::PlanMutation mutation_;
  std::array<int, kPlanFieldCount> valid_{};
};

int compare_all(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
                const Profile& profile, const SearchConfig& config, int count,
                bool every_field = false) {
  const MeshSpace space = enumerate_meshes({model, cluster, workload, {}}, config);
  const std::vector<Setting> all_settings = settings(model, cluster, config);
  const std::vector<MemoryChoice> choices = memory_choices(model, cluster, config);
  const Estimator estimator(model, workload, cluster, profile, Runtime::megatron);
  std::mt19937 random(11);
  Changes changes(random);
  std::vector<Plan> plans;
  int tries = 0;
  while (static_cast<int>(plans.size()) < count && ++tries < 400 * count) {
    Plan plan = space.plan(space.meshes[random() % space.meshes.size()], config);
    all_settings[random() % all_settings.size()].put_into(plan);
    choices[random() % 2 == 0 ? 0 : random() % choices.size()].put_into(plan);
    for (unsigned more = random() % 4; more > 0; --more) changes.change(plan);
    if (!violations({model, workload, plan, config.gpus}).empty()) continue;
    plans.push_back(plan);
    plan.overlap.grad_reduce = !plan.overlap.grad_reduce;  // the same layers
    if (violations({model, workload, plan, config.gpus}).empty()) plans.push_back(plan);
    changes.change_stages(plan);
    if (violations({model, workload, plan, config.gpus}).empty()) plans.push_back(plan);
    for (int more = 0; more < 3; ++more) {  // some of the layers the same
      Plan next = plan;
      const std::size_t row = changes.change(next);
      if (!violations({model, workload, next, config.gpus}).empty()) continue;
      plans.push_back(next);
      changes.count(row);
    }
  }
  std::vector<StepEstimate> first;
  for (const Plan& plan : plans) first.push_back(estimator(plan));
  estimator.forget_programs();
  const Estimator other = Estimator::with_layers_of(estimator);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    expect_same(first[i], estimate(compile(model, workload, plans[i], Runtime::megatron), cluster,
                                   profile), plans[i]);
    expect_same(first[i], estimator(plans[i]), plans[i]);  // from memory alone
    expect_same(first[i], other(plans[i]), plans[i]);
    EXPECT_EQ(estimator.step_at(plans[i], estimator.clock(plans[i])), first[i].step);
  }
  EXPECT_GT(std::ranges::count_if(plans, [](const Plan& p) { return !p.stages.empty(); }), 0);
  EXPECT_LT(estimator.counts().layers, plans.size());
  EXPECT_EQ(other.counts().memos, estimator.counts().memos);
  if (every_field) changes.expect_every_field();
  return static_cast<int>(plans.size());
}

TEST(Estimator, GivesTheEstimateOfTheCompiledPlan) {
  SearchConfig config = test::small_search(16);
  Profile profile = test::small_profile();
  WorkloadSpec loaded = test::short_workload();
  loaded.routing = Routing::natural;
  const auto experts = static_cast<std::size_t>(test::small_model().moe->experts);
  for (int l = 0; l < test::small_model().layers; ++l) {
    if (!test::small_model().is_moe(l)) continue;
    loaded.expert_loads.push_back({l, std::vector<double>(experts, 1.0)});
    loaded.expert_loads.back().of[static_cast<std::size_t>(l) / 2 % experts] = 9;
  }
  EXPECT_GE(compare_all(test::small_model(), test::small_cluster(), loaded, profile, config, 4000,
                        true),
            4000);
  profile.sustained_clock.duty_slope = 0.3;
  EXPECT_GE(compare_all(test::small_model(), test::small_cluster(), test::short_workload(), profile,
                        config, 100),
            100);
}

TEST(Estimator, GivesTheSameOnADeepSeekModelAndMeasuredTables) {
  SearchConfig config = test::small_search(256);
  config.numerics.front().precision = Precision::mxfp8;
  WorkloadSpec workload;
  workload.seq_len = 4096;
  workload.global_batch = 2048;
  EXPECT_GE(compare_all(load_model("deepseek-v3").model, load_cluster("gb200-nvl72"), workload,
                        load_profile("gb200-nvl72-megatron"), config, 80), 80);
}

TEST(Estimator, GivesTheSameWithPackedDocuments) {
  WorkloadSpec workload = test::short_workload();
  workload.documents = {workload.seq_len, workload.seq_len / 8};
  EXPECT_GE(compare_all(test::small_model(), test::small_cluster(), workload, test::small_profile(),
                        test::small_search(16), 60),
            60);
}

// Without stages nothing is sent: a bound is the same whether such plans were bounded before it.
TEST(Estimator, SharesNoSendsWithPlansWithoutStages) {
  Problem problem = test::small_problem();
  problem.cluster.gpus_per_node = 16;
  problem.cluster.tiers.front().size = 16;  // all are near
  Plan whole, staged;
  whole.attention.dp = whole.expert.edp = 4;
  staged.attention.dp = staged.expert.edp = 2;
  staged.attention.pp = 2;
  const Seconds ever(std::numeric_limits<double>::infinity());
  for (const bool whole_first : {true, false}) {
    const auto bound_after = [&](const Plan* before, const Plan& plan) {
      const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                                Runtime::megatron);
      BoundTable bounds(estimator, problem, Runtime::megatron);
      if (before != nullptr) static_cast<void>(bounds.own(*before, ever));
      return bounds.own(plan, ever).step.base();
    };
    const Plan &first = whole_first ? whole : staged, &second = whole_first ? staged : whole;
    EXPECT_EQ(bound_after(&first, second), bound_after(nullptr, second)) << whole_first;
  }
}

}  // namespace
}  // namespace pleat
