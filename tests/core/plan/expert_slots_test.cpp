// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Experts placed by load: worked out by hand, and what must hold of any loads.
#include "core/plan/expert_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "core/spec/expert_load.hpp"
#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::expect_violation;

ExpertMapping by_load(int ep, int redundant = 0) {
  return {.ep = ep, .placement = ExpertPlacement::by_load, .redundant = redundant};
}

std::vector<int> experts_of(const ExpertSlots& slots) {
  return {slots.experts().begin(), slots.experts().end()};
}

// 8, 7 and 5 go to ranks of their own; 2 goes to the 5, the two 1s to the others.
TEST(ExpertSlots, BusyExpertsComeToDifferentRanks) {
  const std::vector<double> loads{8, 7, 1, 1, 2, 5};  // 24 in all
  const ExpertSlots slots = place_experts(loads, {.experts = 6}, by_load(3));
  EXPECT_EQ(experts_of(slots), (std::vector<int>{0, 3, 1, 2, 4, 5}));  // 9, 8 and 7
  EXPECT_DOUBLE_EQ(busiest_rank(slots, loads, 3), 9.0 / 8);
  EXPECT_DOUBLE_EQ(busiest_rank(loads, 3), 15.0 / 8);
}

// Expert 0 has half of all tokens: with a copy each rank of two has a quarter of them.
TEST(ExpertSlots, TheBusiestExpertsGetCopies) {
  const std::vector<double> loads{12, 4, 4, 4};
  const ExpertSlots slots = place_experts(loads, {.experts = 4}, by_load(2, 1));
  EXPECT_EQ(std::ranges::count(experts_of(slots), 0), 2);
  EXPECT_EQ(slots.slots_of(0).size(), 2u);
  EXPECT_EQ(slots.home_of(slots.slots_of(0)[1]), slots.slots_of(0)[0]);
  EXPECT_FALSE(slots.is_copy(slots.slots_of(0)[0]));
  EXPECT_TRUE(slots.is_copy(slots.slots_of(0)[1]));
  EXPECT_NE(slots.slots_of(0)[0] / 3, slots.slots_of(0)[1] / 3) << "on different ranks";
  EXPECT_LT(busiest_rank(slots, loads, 2), 1.2);
  EXPECT_DOUBLE_EQ(busiest_rank(loads, 2), 4.0 / 3);
}

TEST(ExpertSlots, AnyLoads) {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const int ep = 1 << (1 + random() % 5), each = 1 + static_cast<int>(random() % 6);
    const int experts = ep * each;
    std::vector<double> loads;
    for (int e = 0; e < experts; ++e) {
      loads.push_back(std::pow(static_cast<double>(random() % 100), 2));
    }
    loads[0] += 1;
    const MoeSpec moe{.experts = experts, .top_k = 1};
    const int most = static_cast<int>(most_redundant(moe, by_load(ep)));
    EXPECT_EQ(most, experts - each);
    const int redundant = i % 3 == 0 ? 0 : std::min<int>(most, static_cast<int>(random() % 4));
    const ExpertMapping mapping = by_load(ep, redundant);
    const ExpertSlots slots = place_experts(loads, moe, mapping);
    ASSERT_EQ(std::ssize(slots.experts()), mapping.slots(experts));
    for (int e = 0; e < experts; ++e) {
      const auto own = slots.slots_of(e);
      ASSERT_GE(own.size(), 1u);
      EXPECT_LE(std::ssize(own), ep);
      EXPECT_TRUE(std::ranges::is_sorted(own));
      for (const int slot : own) EXPECT_EQ(slots.expert_of(slot), e);
    }
    const double busiest = busiest_rank(slots, loads, ep);
    EXPECT_GE(busiest, 1);
    if (redundant == 0) {
      EXPECT_LE(busiest, busiest_rank(loads, ep) + 1e-9);
    }
    if (redundant == most) {
      EXPECT_NEAR(busiest, 1, 1e-9) << "every rank has every expert";
    }
  }
}

// A token's experts come from 2 of 4 groups: a group's experts stay on its two ranks.
TEST(ExpertSlots, RoutingGroupsStayTogether) {
  const MoeSpec moe{.experts = 16, .top_k = 4, .groups = 4, .top_groups = 2};
  std::vector<double> loads(16, 1.0);
  loads[0] = loads[1] = 10;
  for (const int redundant : {0, 1, 2}) {
    const ExpertMapping mapping = by_load(8, redundant);
    const ExpertSlots slots = place_experts(loads, moe, mapping);
    for (std::int64_t slot = 0; slot < mapping.slots(16); ++slot) {
      EXPECT_EQ(slots.expert_of(slot) / 4, slot / mapping.local(16) / 2);
    }
  }
  EXPECT_EQ(most_redundant(moe, by_load(8)), 2);
  EXPECT_EQ(placement_blocks(moe), 4);
  EXPECT_EQ(placement_blocks({.experts = 16, .groups = 4, .top_groups = 4}), 1);
}

// As many layers as there are loads; a prediction depth has the last layer's.
TEST(ExpertSlots, OfALayer) {
  Case c;
  c.workload.routing = Routing::natural;
  std::vector<double> loads(256, 1.0);
  loads[0] = loads[1] = 50;
  c.workload.expert_loads = {{63, loads}};
  EXPECT_TRUE(slots_of_layer(c.model, c.workload, c.plan.expert, 63).empty());
  const ExpertMapping mapping = by_load(16);
  const ExpertSlots last = slots_of_layer(c.model, c.workload, mapping, 63);
  EXPECT_NE(last.slots_of(0)[0] / 16, last.slots_of(1)[0] / 16);
  EXPECT_EQ(experts_of(slots_of_layer(c.model, c.workload, mapping, 65)), experts_of(last));
  const ExpertSlots unknown = slots_of_layer(c.model, c.workload, mapping, 5);
  EXPECT_EQ(unknown.expert_of(7), 7) << "in order where nothing is known";
  EXPECT_DOUBLE_EQ(rank_imbalance(c.workload, *c.model.moe, 0, mapping),
                   busiest_rank(last, loads, 16));
  EXPECT_EQ(rank_imbalances(c.workload, *c.model.moe, mapping),
            (std::vector<double>{rank_imbalance(c.workload, *c.model.moe, 0, mapping)}));
  c.workload.imbalance = 1.5;
  EXPECT_DOUBLE_EQ(rank_imbalances(c.workload, *c.model.moe, mapping)[0],
                   1.5 * busiest_rank(last, loads, 16));
}

// --- rules

void know_loads(Case& c) {
  c.workload.routing = Routing::natural;
  c.workload.expert_loads = {{1, std::vector<double>(256, 1.0)}};
  c.plan.expert.placement = ExpertPlacement::by_load;
}

TEST(PlacementRules, HoldOfCopies) {
  Case c;
  know_loads(c);
  c.plan.expert.redundant = 240;
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(PlacementRules, NeedLoads) {
  expect_violation([](Case& c) { c.plan.expert.placement = ExpertPlacement::by_load; },
                   "placement-loads", "expert.placement",
                   "experts are placed by their loads, which are not known",
                   "natural routing with workload.expert_loads (--routing FILE), or in_order");
}

TEST(PlacementRules, NeedSeveralRanks) {
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.plan.expert = {.etp = 2, .ep = 1, .edp = 32, .placement = ExpertPlacement::by_load};
      },
      "placement-ranks", "expert.placement",
      "one rank has all experts: there is nothing to place with EP 1", "in_order");
}

TEST(PlacementRules, ScalesOfEarlierStepsAreThoseOfExpertsInOrder) {
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.plan.precision = Precision::fp8_delayed;
      },
      "placement-scales", "expert.placement",
      "fp8_delayed keeps the amax of experts in order, for checkpoints of any layout",
      "in_order, or precision fp8");
}

TEST(PlacementRules, GroupsHaveRanksOfTheirOwn) {
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.model.moe->groups = 32;
        c.model.moe->top_groups = 4;
      },
      "placement-groups", "expert.placement",
      "a token's experts come from 4 of 32 routing groups, which stay on ranks of their own: EP 16 "
      "cannot be split over them",
      "a multiple of 32, or in_order");
}

TEST(PlacementRules, CopiesNeedPlacement) {
  expect_violation([](Case& c) { c.plan.expert.redundant = 2; }, "redundant-placement",
                   "expert.redundant",
                   "2 copies of busy experts on each rank need experts that are placed by load",
                   "expert.placement by_load, or 0");
}

TEST(PlacementRules, NoMoreCopiesThanExperts) {
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.plan.expert.redundant = 241;
      },
      "redundant-most", "expert.redundant",
      "a rank of EP 16 has 16 experts of 256: 241 more are too many", "0 to 240");
}

TEST(PlacementRules, CopiesExcludeShardsByLayer) {
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.plan.expert.redundant = 1;
        c.plan.sharding = Sharding::zero2;
        c.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
        c.plan.expert.edp = 8;
        c.plan.vpp = 1;
      },
      "redundant-sharding", "expert.redundant",
      "the gradients of copies are added up before they are sharded, zero2 shards them layer by "
      "layer",
      "sharding none or zero1, or 0");
}

TEST(PlacementRules, CopiesExcludeLambAndPadding) {
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.plan.expert.redundant = 1;
        c.plan.optimizer.kind = OptimizerKind::lamb;
      },
      "redundant-optimizer", "expert.redundant",
      "lamb steps by the norm of a rank's experts together, copies would count twice",
      "another optimizer, or 0");
  expect_violation(
      [](Case& c) {
        know_loads(c);
        c.plan.expert.redundant = 1;
        c.workload.capacity_factor = 1;
        c.workload.pad_to_capacity = true;
      },
      "redundant-capacity", "expert.redundant", "experts padded to a capacity are all as busy",
      "0");
}

}  // namespace
}  // namespace pleat
