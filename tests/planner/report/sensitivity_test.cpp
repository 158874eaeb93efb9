// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Inputs of a step scaled one by one, and plans priced again under each.
#include "planner/report/sensitivity.hpp"
#include "planner/search/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/spec/catalog.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;
using ::testing::ElementsAre;

void scale(Problem& ground, const std::string& name, double factor) {
  const auto inputs = step_inputs(small_model(), ground.cluster);
  const auto input = std::ranges::find(inputs, name, &StepInput::name);
  ASSERT_NE(input, inputs.end()) << name;
  input->scale(ground, factor);
}

Seconds step_of(const Problem& g, const Plan& plan) {
  return estimate(compile(small_model(), g.workload, plan, Runtime::megatron), g.cluster, g.profile)
      .step;
}

TEST(StepInputs, OfDenseModelsAndClustersWithOneTier) {
  const auto names = [](const ModelSpec& model, const ClusterSpec& cluster) {
    std::vector<std::string> list;
    for (const StepInput& i : step_inputs(model, cluster)) list.push_back(i.name);
    return list;
  };
  ModelSpec dense = small_model();
  dense.moe.reset();
  ClusterSpec one = small_cluster();
  one.tiers.pop_back();
  EXPECT_THAT(names(dense, one), ElementsAre("link bandwidth", "memory bandwidth", "device memory",
                                             "matrix product rate", "host time"));
  EXPECT_THAT(names(small_model(), small_cluster()),
              ElementsAre("link bandwidth", "net bandwidth", "memory bandwidth", "device memory",
                          "matrix product rate", "host time", "expert imbalance"));
}

TEST(StepInputs, WhatWasMeasuredOverALinkScalesWithIt) {
  Problem g = small_problem();
  g.profile.dispatch = {{.tier = 0, .dispatch = BytesPerSecond(100), .combine = BytesPerSecond(80)},
                        {.tier = 1, .dispatch = BytesPerSecond(50), .combine = BytesPerSecond(40)}};
  CollectiveTable table;
  table.series[0] = {{.ranks = 2, .bytes = {1, 1000}, .seconds = {10e-6, 35e-6}}};
  g.profile.collective_times = {std::make_shared<const CollectiveTable>(table)};
  Problem link = g, net = g;
  scale(link, "link bandwidth", 1.25);
  EXPECT_EQ(link.cluster.tiers[0].bandwidth, BytesPerSecond(6.25e10));
  EXPECT_EQ(link.cluster.tiers[1], g.cluster.tiers[1]);
  EXPECT_EQ(link.profile.dispatch[0].dispatch, BytesPerSecond(125));
  EXPECT_EQ(link.profile.dispatch[0].combine, BytesPerSecond(100));
  EXPECT_EQ(link.profile.dispatch[1], g.profile.dispatch[1]);
  // The latency stays, 25 us of transfer become 20.
  const std::vector<double>& seconds = link.profile.collective_times->series[0][0].seconds;
  EXPECT_DOUBLE_EQ(seconds[0], 10e-6);
  EXPECT_DOUBLE_EQ(seconds[1], 30e-6);
  scale(net, "net bandwidth", 1.25);
  EXPECT_EQ(net.profile.dispatch[0], g.profile.dispatch[0]);
  EXPECT_EQ(net.profile.dispatch[1].dispatch, BytesPerSecond(62.5));
  EXPECT_EQ(net.profile.collective_times, g.profile.collective_times);
}

TEST(StepInputs, MemoryMatricesAndImbalance) {
  Problem g = small_problem();
  g.profile.gemm.by_math[0].bandwidth = BytesPerSecond(1000);
  scale(g, "memory bandwidth", 0.8);
  EXPECT_EQ(g.cluster.gpu.memory_bandwidth, BytesPerSecond(8e10));
  EXPECT_EQ(g.profile.gemm.by_math[0].bandwidth, BytesPerSecond(800));
  scale(g, "matrix product rate", 1.2);
  const SustainedClock before = small_profile().sustained_clock;
  EXPECT_DOUBLE_EQ(g.profile.sustained_clock.gemm_bf16, 1.2 * before.gemm_bf16);
  EXPECT_DOUBLE_EQ(g.profile.sustained_clock.gemm_fp4, 1.2 * before.gemm_fp4);
  EXPECT_EQ(g.profile.sustained_clock.attention, before.attention);
  scale(g, "expert imbalance", 0.8);  // no rank has less than the mean
  EXPECT_EQ(g.workload.imbalance, 1.0);
  EXPECT_EQ(g.workload.routing, Routing::natural);
  scale(g, "expert imbalance", 1.2);
  scale(g, "expert imbalance", 1.2);
  EXPECT_DOUBLE_EQ(g.workload.imbalance, 1.44);
  WorkloadSpec forced = short_workload();
  forced.imbalance = 3;  // without effect
  Problem unused{small_model(), small_cluster(), forced, small_profile()};
  scale(unused, "expert imbalance", 1.2);
  EXPECT_DOUBLE_EQ(unused.workload.imbalance, 1.2);
}

// More of what speeds up is never slower; host time and imbalance the other way round.
TEST(StepInputs, MovesTheStepTheRightWay) {
  Plan plan;
  plan.attention = {1, 1, 2, 2};
  plan.expert = {1, 2, 1};
  const Seconds base = step_of(small_problem(), plan);
  for (const StepInput& input : step_inputs(small_model(), small_cluster())) {
    Problem less = small_problem(), more = small_problem();
    input.scale(less, 0.8);
    input.scale(more, 1.2);
    const bool slows = input.name == "host time" || input.name == "expert imbalance";
    const Seconds good = step_of(slows ? less : more, plan),
                  bad = step_of(slows ? more : less, plan);
    EXPECT_LE(good, base) << input.name;
    EXPECT_GE(bad, base) << input.name;
    EXPECT_EQ(input.takes_time, good < bad) << input.name;
  }
}

std::vector<Candidate> found(int gpus, int top, const Problem& g) {
  SearchConfig config = small_search(gpus);
  config.top = top;
  return search(g, config).best;
}

TEST(PlanSensitivity, IsThatOfPricingEveryPlanUnderEveryChange) {
  const Problem g = small_problem();
  const std::vector<Candidate> plans = found(8, 12, g);
  ASSERT_EQ(plans.size(), 12u);
  const std::vector<PlanSwing> swings = plan_sensitivity(g, plans, {.threads = 1});
  ASSERT_EQ(swings.size(), 7u);
  const auto expect = [&](const PlanSwing& s, const ChangedAnswer& answer, double factor) {
    Problem changed = g;
    scale(changed, s.input, factor);
    std::size_t best = 0;
    std::vector<Seconds> steps;
    for (const Candidate& c : plans) steps.push_back(step_of(changed, c.plan));
    for (std::size_t i = 1; i < steps.size(); ++i) {
      if (steps[i] < steps[best] * (1 - 1e-9)) best = i;
    }
    EXPECT_EQ(answer.own, steps[0]) << s.input;
    ASSERT_TRUE(answer.best) << s.input;
    EXPECT_EQ(answer.best->place, best) << s.input;
    EXPECT_EQ(answer.best->step, steps[best]) << s.input;
    EXPECT_EQ(answer.best->plan, plans[best].plan) << s.input;
    EXPECT_TRUE(answer.fits && answer.proven);
  };
  for (const PlanSwing& s : swings) {
    expect(s, s.less, 0.8);
    expect(s, s.more, 1.2);
    EXPECT_DOUBLE_EQ(s.effect, std::abs((s.more.own - s.less.own) / plans[0].estimate.step));
  }
  EXPECT_TRUE(std::ranges::is_sorted(swings, std::greater{}, &PlanSwing::effect));
  const std::vector<PlanSwing> parallel = plan_sensitivity(g, plans, {.threads = 4});
  for (std::size_t i = 0; i < swings.size(); ++i) {
    EXPECT_EQ(parallel[i].input, swings[i].input);
    EXPECT_EQ(parallel[i].less.best->step, swings[i].less.best->step);
    EXPECT_EQ(parallel[i].more.own, swings[i].more.own);
  }
}

const PlanSwing& of(const std::vector<PlanSwing>& swings, const std::string& input) {
  return *std::ranges::find(swings, input, &PlanSwing::input);
}

// The first plan needs 90% of the memory: with a fifth less of it, the first that still fits wins.
TEST(PlanSensitivity, LessMemoryDropsWhatDoesNotFit) {
  Problem g = small_problem();
  std::vector<Candidate> plans = found(8, 40, g);
  const auto least_memory_plan = std::ranges::min_element(
      plans, {}, [](const Candidate& c) { return c.estimate.peak_bytes(); });
  const Candidate lean = *least_memory_plan;
  const auto fat = std::ranges::find_if(plans, [&](const Candidate& c) {
    return static_cast<double>(c.estimate.peak_bytes()) >
           1.3 * static_cast<double>(lean.estimate.peak_bytes());
  });
  ASSERT_NE(fat, plans.end());
  plans = {*fat, lean};
  g.cluster.gpu.memory = Bytes(static_cast<double>(plans[0].estimate.peak_bytes()) / 0.9);
  const PlanSwing memory =
      of(plan_sensitivity(g, plans, {.memory_margin = 0, .threads = 1}),
         "device memory");
  EXPECT_FALSE(memory.less.fits);
  EXPECT_EQ(memory.less.best->place, 1u);
  EXPECT_TRUE(memory.more.fits);
  EXPECT_EQ(memory.more.best->place, 0u);
  EXPECT_EQ(memory.effect, 0);
  plans.pop_back();
  EXPECT_FALSE(of(plan_sensitivity(g, plans, {.memory_margin = 0, .threads = 1}),
                  "device memory")
                   .less.best);
  // A search finds one all the same.
  SearchConfig config = small_search(8);
  config.memory_margin = 0;
  const PlanSwing searched =
      of(search_sensitivity(g, plans, config), "device memory");
  ASSERT_TRUE(searched.less.best);
  EXPECT_FALSE(searched.less.best->place.has_value());
  EXPECT_FALSE(searched.less.fits);
}

TEST(PlanSensitivity, ASearchIsNeverWorseThanTheList) {
  const Problem g = small_problem();
  const std::vector<Candidate> plans = found(4, 2, g);
  const auto list = plan_sensitivity(g, plans, {.threads = 1});
  const auto searched = search_sensitivity(g, plans, small_search(4));
  ASSERT_EQ(searched.size(), list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(searched[i].input, list[i].input);
    Problem changed = g;
    scale(changed, list[i].input, 0.8);
    const Seconds optimum = found(4, 1, changed).front().estimate.step;
    EXPECT_NEAR(searched[i].less.best->step / optimum, 1, 1e-9) << list[i].input;
    EXPECT_LE(searched[i].more.best->step, list[i].more.best->step);
    EXPECT_TRUE(searched[i].less.proven);
  }
  SearchConfig cut = small_search(4);
  cut.progress = [](const SearchProgress&) { return false; };
  bool proven = true;
  for (const PlanSwing& s : search_sensitivity(g, plans, cut))
    proven &= s.less.proven;
  EXPECT_FALSE(proven);
}

}  // namespace
}  // namespace pleat
