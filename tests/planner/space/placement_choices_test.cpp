// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which placements of experts a search tries, and what it says of a plan at an edge of its space.
#include "planner/space/placement_choices.hpp"

#include <gtest/gtest.h>

#include "core/plan/expert_slots.hpp"
#include "planner/plan.hpp"
#include "planner/space/not_tried.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using test::small_problem;
using test::small_search;
using enum ExpertPlacement;

// Two busy experts beside each other in every layer.
Problem loaded_problem() {
  Problem p = small_problem();
  p.workload.routing = Routing::natural;
  for (int l = 0; l < p.model.layers; ++l) {
    if (!p.model.is_moe(l)) continue;
    std::vector<double> loads(static_cast<std::size_t>(p.model.moe->experts), 1.0);
    loads[0] = loads[1] = 30;
    p.workload.expert_loads.push_back({l, loads});
  }
  return p;
}

SearchConfig pleat_search(int gpus) {
  SearchConfig config = small_search(gpus);
  config.runtime = Runtime::pleat;
  return config;
}

using Tried = std::vector<std::pair<ExpertPlacement, int>>;

Tried tried(const Problem& problem, const SearchConfig& config, int ep) {
  Tried list;
  for (const ExpertMapping& m : PlacementChoices(problem, config).of({.ep = ep})) {
    list.emplace_back(m.placement, m.redundant);
  }
  return list;
}

TEST(PlacementChoices, ByLoadWhereLoadsAreKnown) {
  const Problem p = loaded_problem();
  ASSERT_GE(p.model.moe->experts, 8);
  SearchConfig config = pleat_search(8);
  EXPECT_EQ(tried(small_problem(), config, 2), (Tried{{in_order, 0}}));
  EXPECT_EQ(tried(p, config, 1), (Tried{{in_order, 0}}));
  EXPECT_EQ(tried(p, config, 2), (Tried{{by_load, 0}})) << "30 and 3 on each: even";
  EXPECT_EQ(tried(p, config, 4), (Tried{{by_load, 0}, {by_load, 1}, {by_load, 2}}));
  config.runtime = Runtime::megatron;
  EXPECT_EQ(tried(p, config, 2), (Tried{{in_order, 0}}));
}

TEST(PlacementChoices, InOrderWherePlacingGainsNothing) {
  Problem p = loaded_problem();
  for (ExpertLoads& loads : p.workload.expert_loads) loads.of.assign(loads.of.size(), 3.0);
  EXPECT_EQ(tried(p, pleat_search(8), 2), (Tried{{in_order, 0}}));
}

TEST(PlacementChoices, PinsAreTakenAsTheyAre) {
  const Problem p = loaded_problem();
  SearchConfig config = pleat_search(8);
  config.pin<"expert-placement">() = in_order;
  EXPECT_EQ(tried(p, config, 2), (Tried{{in_order, 0}}));
  config.pin<"expert-placement">() = by_load;
  config.pin<"redundant-experts">() = {0, 3};
  EXPECT_EQ(tried(p, config, 2), (Tried{{by_load, 0}, {by_load, 3}}));
  config.pin<"expert-placement">().reset();
  config.pin<"redundant-experts">() = {0};
  EXPECT_EQ(tried(p, config, 2), (Tried{{in_order, 0}, {by_load, 0}}));
  config.runtime = Runtime::megatron;
  EXPECT_EQ(tried(p, config, 2), (Tried{{in_order, 0}}));
  EXPECT_FALSE(allows_placement(config, {.ep = 2, .placement = by_load}));
  config.pin<"redundant-experts">() = {1};
  EXPECT_TRUE(allows_placement(config, {.ep = 2, .placement = by_load, .redundant = 1}));
}

// Busy neighbours make experts in order slow; the answer is as good as each placement pinned.
TEST(PlacementChoices, TheSearchTakesTheBestOne) {
  const Problem p = loaded_problem();
  PlanRequest open{.search = pleat_search(4)};
  open.search.pin<"ep">() = {4};
  const Candidate best = plan(p, open).result.best.front();
  EXPECT_EQ(best.plan.expert.placement, by_load);
  for (const int copies : {0, 1, 2}) {
    PlanRequest pinned = open;
    pinned.search.pin<"redundant-experts">() = {copies};
    EXPECT_LE(best.estimate.step, plan(p, pinned).result.best.front().estimate.step);
  }
  open.search.pin<"expert-placement">() = in_order;
  EXPECT_LT(best.estimate.step * 1.01, plan(p, open).result.best.front().estimate.step);
}

TEST(AtEdges, OfAPlanWithTheLargestValues) {
  Problem p = loaded_problem();
  p.workload.seq_len = 8192;
  p.workload.global_batch = 64;
  SearchConfig config = pleat_search(2);
  Plan at_cap;
  at_cap.attention.dp = 2;
  EXPECT_TRUE(at_edges(at_cap, p, config).empty());
  at_cap.micro_batch = 8;
  const std::vector<AtEdge> edges = at_edges(at_cap, p, config);
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_EQ(edges[0].field, std::string("micro_batch"));
  EXPECT_EQ(edges[0].next, 16);
  config.pin<"micro-batch">() = {8};
  EXPECT_TRUE(at_edges(at_cap, p, config).empty());
  config.pin<"micro-batch">().reset();
  p.workload.global_batch = 16;  // no larger one divides it
  EXPECT_TRUE(at_edges(at_cap, p, config).empty());
  at_cap.expert = {.ep = 2, .placement = by_load, .redundant = 4};
  EXPECT_EQ(at_edges(at_cap, p, config).size(),
            most_redundant(*p.model.moe, at_cap.expert) > 4 ? 1u : 0u);
}

}  // namespace
}  // namespace pleat
