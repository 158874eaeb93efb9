// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Steps whose experts are not loaded alike: a value worked out by hand, and what must hold always.
#include <gtest/gtest.h>

#include "simulator/estimator.hpp"
#include "simulator/layer_rows.hpp"
#include "tests/simulator/fixtures.hpp"
#include "tests/simulator/random_cases.hpp"

namespace pleat::test {
namespace {

// Eight experts on four ranks; the mean rank has 8.
const std::vector<double> kEven(8, 4), kHalfMore{9, 3, 4, 4, 4, 4, 2, 2}, kTwice{2, 2, 16, 0,
                                                                                 2, 2, 4,  4};

WorkloadSpec with_loads(std::vector<ExpertLoads> loads) {
  WorkloadSpec w{.seq_len = 32, .global_batch = 32, .routing = Routing::natural};
  w.expert_loads = std::move(loads);
  return w;
}

StepEstimate estimate_with(const WorkloadSpec& w, const Plan& plan) {
  return estimate(compile(small_model(), w, plan, Runtime::pleat), round_cluster(),
                  ideal_profile());
}

// 32 tokens go to 2 experts each, so a mean rank has 64 rows: 96 in layer 1, 64 in 2, 128 in 3. A
// row costs 3 matrices of 64 x 32, 2 flops for each element forward and 4 backward: 36,864 flops.
TEST(Routing, RowsOfEveryLayerAreThoseOfItsBusiestRank) {
  const Plan plan = make_plan({.dp = 4}, {.ep = 4});
  const WorkloadSpec skewed = with_loads({{1, kHalfMore}, {2, kEven}, {3, kTwice}});
  const WorkloadSpec even{.seq_len = 32, .global_batch = 32};
  const Program program = compile(small_model(), skewed, plan, Runtime::pleat);
  const LayerRows rows(small_model(), skewed, plan);
  std::vector<std::int64_t> routed;
  for (const LayerInstance& i : program.stages[0].chunks[0].instances) {
    const LayerProgram& layer = program.stages[0].program(i);
    if (layer.kind == LayerKind::moe) routed.push_back(rows.of(layer).routed);
  }
  EXPECT_EQ(routed, (std::vector<std::int64_t>{96, 64, 128}));

  const StepEstimate a = estimate_with(even, plan), b = estimate_with(skewed, plan);
  const double more = part_of(b.parts, CostClass::grouped_gemm).base() -
                      part_of(a.parts, CostClass::grouped_gemm).base();
  constexpr double kMicrobatches = 8, kRows = 32 + 64;
  EXPECT_NEAR(more, kMicrobatches * kRows * 36'864 / 1e12, 1e-12);
  // Rows of 64 numbers in bf16 out and back in both passes, their probabilities in fp32 out and
  // back; 3 of 4 go to other ranks, at 100 GB/s.
  const double moved =
      part_of(b.parts, CostClass::ep_comm).base() - part_of(a.parts, CostClass::ep_comm).base();
  constexpr double kRowBytes = 4 * 64 * 2 + 2 * 4;
  EXPECT_NEAR(moved, kMicrobatches * kRows * kRowBytes * 0.75 / 100e9, 1e-12);
  EXPECT_GT(b.peak_bytes(), a.peak_bytes());
}

// Recomputed as one unit, layers count as their mean: 96, then (64 + 128) / 2.
TEST(Routing, LayersOfAUnitCountAsTheirMean) {
  Plan plan = make_plan({.dp = 4}, {.ep = 4});
  plan.recompute_full = true;
  plan.recompute_unit = 2;
  const WorkloadSpec w = with_loads({{1, kHalfMore}, {2, kEven}, {3, kTwice}});
  const Program program = compile(small_model(), w, plan, Runtime::pleat);
  const LayerRows rows(small_model(), w, plan);
  std::vector<std::int64_t> routed;
  for (const LayerInstance& i : program.stages[0].chunks[0].instances) {
    const LayerProgram& layer = program.stages[0].program(i);
    if (layer.kind == LayerKind::moe) routed.push_back(rows.of(layer).routed);
  }
  EXPECT_EQ(routed, (std::vector<std::int64_t>{96, 96}));
}

// --- for random models, clusters and plans

std::vector<RandomCase> cases_with_experts() {
  std::vector<RandomCase> cases;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    RandomCase c = random_case(seed);
    if (c.model.moe) cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<ExpertLoads> loads_of(const RandomCase& c, const std::function<double(Dice&)>& load) {
  Dice dice(c.seed);
  std::vector<ExpertLoads> all;
  for (int l = 0; l < c.model.layers; ++l) {
    if (!c.model.is_moe(l)) continue;
    std::vector<double>& loads = all.emplace_back(ExpertLoads{l, {}}).of;
    for (std::int64_t e = 0; e < c.model.moe->experts; ++e) loads.push_back(load(dice));
  }
  return all;
}

double random_load(Dice& dice) { return static_cast<double>(dice.below(100)); }

void expect_same(const StepEstimate& a, const StepEstimate& b) {
  EXPECT_EQ(a.step.base(), b.step.base());
  EXPECT_EQ(a.peak_bytes(), b.peak_bytes());
  for (std::size_t k = 0; k < a.parts.size(); ++k) EXPECT_EQ(a.parts[k].base(), b.parts[k].base());
}

TEST(Routing, EqualLoadsAreTheBalancedPrediction) {
  for (RandomCase c : cases_with_experts()) {
    SCOPED_TRACE(c.name());
    const StepEstimate balanced = c.price();
    c.workload.routing = Routing::natural;
    expect_same(c.price(), balanced);
    c.workload.expert_loads = loads_of(c, [](Dice&) { return 0.1; });
    expect_same(c.price(), balanced);
  }
}

TEST(Routing, WithoutExpertParallelismNoRankIsBusier) {
  int tried = 0;
  for (RandomCase c : cases_with_experts()) {
    if (c.plan.expert.ep > 1) continue;
    SCOPED_TRACE(c.name());
    ++tried;
    const StepEstimate balanced = c.price();
    c.workload.routing = Routing::natural;
    c.workload.imbalance = 1.5;
    expect_same(c.price(), balanced);
    c.workload.expert_spread = 1;
    expect_same(c.price(), balanced);
    c.workload.expert_loads = loads_of(c, random_load);
    expect_same(c.price(), balanced);
  }
  EXPECT_GT(tried, 10);
}

TEST(Routing, OrderOfARanksExpertsDoesNotMatter) {
  for (RandomCase c : cases_with_experts()) {
    SCOPED_TRACE(c.name());
    c.workload.routing = Routing::natural;
    c.workload.expert_loads = loads_of(c, random_load);
    const StepEstimate before = c.price();
    const auto own = static_cast<std::ptrdiff_t>(c.model.moe->experts / c.plan.expert.ep);
    for (ExpertLoads& layer : c.workload.expert_loads) {
      for (auto at = layer.of.begin(); at != layer.of.end(); at += own) std::reverse(at, at + own);
    }
    expect_same(c.price(), before);
  }
}

TEST(Routing, MoreImbalanceIsNeverFasterAndNeverNeedsLess) {
  int slower = 0;
  for (RandomCase c : cases_with_experts()) {
    SCOPED_TRACE(c.name());
    c.platform.profile.sustained_clock.duty_slope = 0;
    // Streams in list order (docs/MODEL.md section 10).
    const double rounding = c.plan.sharding >= Sharding::zero2 ? 1.01 : 1 + 1e-9;
    const auto never_faster = [&](auto make) {
      StepEstimate last = c.price();
      for (const double much : {0.05, 0.3, 1.0}) {
        RandomCase more = c;
        more.workload.routing = Routing::natural;
        make(more.workload, much);
        const StepEstimate e = more.price();
        EXPECT_LE(last.step.base(), e.step.base() * rounding);
        EXPECT_LE(last.peak_bytes(), e.peak_bytes());
        slower += e.step > last.step ? 1 : 0;
        last = e;
      }
    };
    never_faster([](WorkloadSpec& w, double much) { w.imbalance = 1 + much; });
    never_faster([](WorkloadSpec& w, double much) { w.expert_spread = much; });
    const std::vector<ExpertLoads> loads = loads_of(c, random_load);
    never_faster([&](WorkloadSpec& w, double much) {
      w.expert_loads = loads;
      for (ExpertLoads& layer : w.expert_loads) {
        for (double& load : layer.of) load = 50 + much * (load - 50);
      }
    });
  }
  EXPECT_GT(slower, 200);
}

TEST(Routing, TheEstimatorRemembersLayersByTheirLoads) {
  for (RandomCase c : cases_with_experts()) {
    SCOPED_TRACE(c.name());
    c.workload.routing = Routing::natural;
    c.workload.expert_loads = loads_of(c, random_load);
    const Estimator estimator(c.model, c.workload, c.platform.cluster, c.platform.profile,
                              Runtime::megatron);
    expect_same(estimator(c.plan), c.price());
  }
}

}  // namespace
}  // namespace pleat::test
