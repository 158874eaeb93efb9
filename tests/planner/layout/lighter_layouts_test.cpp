// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/lighter_layouts.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/plan/layout.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

constexpr int kStages = 4, kLayers = 16;

Problem problem_of_layers() {
  Problem problem = test::small_problem();
  problem.model.layers = kLayers;
  problem.model.moe_layer.assign(kLayers, true);
  return problem;
}

Candidate pipeline(const Problem& problem, int vpp) {
  Candidate c;
  c.plan.attention = {.tp = 1, .cp = 1, .dp = 2, .pp = kStages};
  c.plan.expert = {.etp = 1, .ep = 1, .edp = 2};
  c.plan.vpp = vpp;
  c.plan.sharding = Sharding::zero1;
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            Runtime::megatron);
  c.estimate = estimator(c.plan);
  return c;
}

// Of each pipeline rank.
std::vector<std::int64_t> layers_of_ranks(const Plan& plan, const ModelSpec& model) {
  std::vector<std::int64_t> layers(kStages);
  const std::vector<VirtualStage> stages = stage_layout(plan, model);
  for (std::size_t v = 0; v < stages.size(); ++v) layers[v % kStages] += stages[v].layers;
  return layers;
}

TEST(LighterLayouts, TakeALayerFromTheFullestRankOrPutLayersIntoLaterChunks) {
  const Problem problem = problem_of_layers();
  for (const int vpp : {1, 2}) {
    const Candidate from = pipeline(problem, vpp);
    const auto fullest = static_cast<std::size_t>(from.estimate.fullest_stage().stage.value);
    const std::vector<std::int64_t> own = layers_of_ranks(from.plan, problem.model);
    const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                              Runtime::megatron);
    int moved = 0, shifted = 0;
    for (const Plan& plan : lighter_layouts(problem, from)) {
      EXPECT_NE(plan.layout, from.plan.layout);
      const std::vector<std::int64_t> layers = layers_of_ranks(plan, problem.model);
      EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), kLayers);
      Plan same_layout = plan;
      same_layout.layout = from.plan.layout;
      EXPECT_EQ(same_layout, from.plan);
      if (layers == own) ++shifted;
      else if (layers[fullest] == own[fullest] - 1) ++moved;
      EXPECT_LT(estimator(plan).memory[fullest].peak, from.estimate.memory[fullest].peak)
          << plan.layout;
    }
    EXPECT_GT(moved, 0);
    EXPECT_EQ(shifted > 0, vpp > 1);
  }
}

TEST(LighterLayouts, AreOfPipelinesAlone) {
  const Problem problem = problem_of_layers();
  Candidate c = pipeline(problem, 1);
  c.plan.attention = {.tp = 1, .cp = 1, .dp = 8, .pp = 1};
  EXPECT_TRUE(lighter_layouts(problem, c).empty());
}

}  // namespace
}  // namespace pleat
