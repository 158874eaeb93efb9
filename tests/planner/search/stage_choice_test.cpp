// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A cutoff leaves out choices of stages, but none that a plan within the cutoff has.
#include "planner/search/stage_choice.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;

struct Drawn {
  int chosen = 0, left_out = 0;
};

void check(const RandomCase& c, const PlanTree& tree, const Node& node, double share,
           Drawn& drawn) {
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
  BoundTable bounds(estimator, c, c.config.runtime);
  Node plain = node;
  plain.memory = 0;
  if (tree.broken_rule(tree.plan_of(plain)) != nullptr) return;
  const auto usable = static_cast<std::int64_t>(
      share * static_cast<double>(estimator(tree.plan_of(plain)).peak_bytes()));
  const auto choose = [&](Seconds cutoff) {
    return choose_by_stage(tree, estimator, bounds, node, cutoff, usable, 0,
                           c.cluster.gpus_per_node);
  };
  const ChosenByStage all = choose(Seconds(std::numeric_limits<double>::infinity()));
  if (!all.fits || all.cut) return;
  Plan plan = tree.plan_of(node);
  plan.stages = all.stages;
  const Seconds step = estimator(plan).step;
  for (const double factor : {0.2, 0.4, 0.6, 0.8, 0.95, 1.0, 1.01}) {
    const Seconds cutoff = step * factor;
    const ChosenByStage some = choose(cutoff);
    ++drawn.chosen;
    if (factor >= 1) {
      EXPECT_TRUE(some.fits) << summary(plan);
      EXPECT_EQ(some.stages, all.stages) << summary(plan);
      continue;
    }
    EXPECT_TRUE(some.fits || some.rule == nullptr) << some.rule << " " << summary(plan);
    if (some.fits) continue;
    ++drawn.left_out;
    EXPECT_GT(some.left_out, cutoff);
    EXPECT_LE(some.left_out.base(), step.base() * (1 + 1e-9)) << summary(plan);
  }
}

TEST(StageChoice, ACutoffLeavesOutNothingThatIsWithinIt) {
  CaseMaker maker(43, true);
  Drawn drawn;
  for (int i = 0; i < 150; ++i) {
    const RandomCase c = maker.make(800);
    const PlanTree tree(c, c.config);
    for (const Node& grid : tree.grids()) {
      Node node = of_one_mesh(grid, grid.mesh);
      if (tree.mesh_of(node).attention.pp == 1 || maker.chance(0.2)) continue;
      node.level = Level::setting;
      for (std::size_t m = 0; m < tree.choices.size(); ++m) {
        if (!tree.choices[m].by_stage) continue;
        node.memory = static_cast<std::int16_t>(m);
        for (const double share : {0.99, 0.98, 0.97, 0.95, 0.93, 0.9, 0.87, 0.84, 0.8, 0.75}) {
          node.setting = static_cast<std::int16_t>(
              maker.pick(static_cast<int>(tree.settings.size())));
          check(c, tree, node, share, drawn);
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(drawn.chosen, 50);
  EXPECT_GT(drawn.left_out, 20) << drawn.chosen;
}

}  // namespace
}  // namespace pleat
