// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of plans whose passes run in pairs, for models whose layers differ and pipelines whose
// chunks do.
#include <gtest/gtest.h>

#include "planner/bounds/bounds.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

// Two kinds of layers in turn: attention to everything, and to few keys.
Problem two_kinds(int layers) {
  Problem p = test::small_problem();
  p.workload.seq_len = 512;
  p.workload.global_batch = 64;
  p.model.layers = layers;
  p.model.moe_layer.assign(static_cast<std::size_t>(layers), true);
  p.model.moe->shared_ffn = 0;
  for (int l = 0; l < layers; ++l) p.model.layer_traits.push_back({.window = l % 2 == 0 ? 0 : 16});
  return p;
}

Plan paired(int pp, int vpp) {
  Plan plan;
  plan.attention = {.tp = 1, .cp = 1, .dp = 2, .pp = pp};
  plan.expert = {.etp = 1, .ep = 2, .edp = 1};
  plan.vpp = vpp;
  plan.overlap.expert_parallel = true;
  return plan;
}

// The bound over the step, if that may just be listed.
double tightness(const Problem& problem, const Plan& plan) {
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            Runtime::megatron);
  BoundTable bounds(estimator, problem, Runtime::megatron);
  const Seconds step = estimator(plan).step;
  return bounds.own(plan, step).step / step;
}

TEST(PairBounds, AreTightWhereLayersDiffer) {
  for (const int layers : {8, 16}) {
    const double found = tightness(two_kinds(layers), paired(2, 2));
    EXPECT_LE(found, 1 + 1e-12);
    EXPECT_GT(found, 0.97) << layers;
  }
}

TEST(PairBounds, AreTightWhereChunksDiffer) {
  for (const int layers : {9, 11, 13}) {
    const double found = tightness(two_kinds(layers), paired(4, 2));
    EXPECT_LE(found, 1 + 1e-12);
    EXPECT_GT(found, 0.9) << layers;
  }
}

}  // namespace
}  // namespace pleat
