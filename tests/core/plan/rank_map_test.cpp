// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The two grids: small examples by hand, and properties over many plans.
#include "core/plan/rank_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace pleat {
namespace {

std::vector<int> members(const Plan& plan, int rank, Group kind) {
  std::vector<int> values;
  for (const Rank r : group_members(plan, Rank{rank}, kind)) values.push_back(r.value);
  return values;
}

using Ranks = std::vector<int>;

Plan plan_of(AttentionMapping a, ExpertMapping e) {
  Plan plan;
  plan.attention = a;
  plan.expert = e;
  return plan;
}

// 16 ranks: TP2 CP2 DP2 PP2 for attention, ETP1 EP4 EDP2 for experts.
const Plan kPlan = plan_of({.tp = 2, .cp = 2, .dp = 2, .pp = 2}, {.etp = 1, .ep = 4, .edp = 2});

TEST(RankMap, Coordinates) {
  EXPECT_EQ(attention_coordinates(kPlan, Rank{13}),
            (AttentionCoordinates{.tp = 1, .cp = 0, .dp = 1, .pp = 1}));
  EXPECT_EQ(expert_coordinates(kPlan, Rank{13}),
            (ExpertCoordinates{.etp = 0, .ep = 1, .edp = 1, .pp = 1}));
}

TEST(RankMap, AttentionGroupsByHand) {
  EXPECT_EQ(members(kPlan, 13, Group::tp), (Ranks{12, 13}));
  EXPECT_EQ(members(kPlan, 13, Group::cp), (Ranks{13, 15}));
  EXPECT_EQ(members(kPlan, 13, Group::dp), (Ranks{9, 13}));
  EXPECT_EQ(members(kPlan, 13, Group::dp_cp), (Ranks{9, 11, 13, 15}));
  EXPECT_EQ(group_stride(kPlan, Group::tp), 1);
  EXPECT_EQ(group_stride(kPlan, Group::cp), 2);
  EXPECT_EQ(group_stride(kPlan, Group::dp), 4);
  EXPECT_EQ(group_stride(kPlan, Group::dp_cp), 2);
}

TEST(RankMap, ExpertGroupsByHand) {
  EXPECT_EQ(members(kPlan, 13, Group::ep), (Ranks{12, 13, 14, 15}));
  EXPECT_EQ(members(kPlan, 13, Group::edp), (Ranks{9, 13}));
  EXPECT_EQ(members(kPlan, 13, Group::etp), (Ranks{13}));
  EXPECT_EQ(group_stride(kPlan, Group::ep), 1);
  EXPECT_EQ(group_stride(kPlan, Group::edp), 4);

  const Plan etp = plan_of({.tp = 4, .dp = 2}, {.etp = 2, .ep = 4});
  EXPECT_EQ(members(etp, 5, Group::etp), (Ranks{4, 5}));
  EXPECT_EQ(members(etp, 5, Group::ep), (Ranks{1, 3, 5, 7}));
  EXPECT_EQ(group_stride(etp, Group::ep), 2);
}

TEST(RankMap, PipelineNeighboursAreCyclic) {
  const Plan plan = plan_of({.tp = 2, .pp = 3}, {.ep = 2});
  EXPECT_EQ(members(plan, 1, Group::pp_next), (Ranks{1, 3}));
  EXPECT_EQ(members(plan, 1, Group::pp_prev), (Ranks{1, 5}));
  EXPECT_EQ(members(plan, 4, Group::pp_next), (Ranks{4, 0}));
  EXPECT_EQ(group_stride(plan, Group::pp_next), 2);
  EXPECT_EQ(members(plan_of({.dp = 4}, {}), 2, Group::pp_next), (Ranks{2}));
}

TEST(RankMap, StageMembersAreAtTheSamePlaceOfTheirStages) {
  const Plan plan = plan_of({.tp = 2, .pp = 3}, {.ep = 2});
  const std::vector<Stage> ends{Stage{0}, Stage{2}}, all{Stage{0}, Stage{1}, Stage{2}};
  EXPECT_EQ(stage_members(plan, Rank{1}, ends), (std::vector{Rank{1}, Rank{5}}));
  EXPECT_EQ(stage_members(plan, Rank{5}, ends), (std::vector{Rank{1}, Rank{5}}));
  EXPECT_EQ(stage_members(plan, Rank{2}, all), (std::vector{Rank{0}, Rank{2}, Rank{4}}));
  EXPECT_EQ(group_stride(plan, Group::embedding), 4);
}

// Two instances of the shards: ranks 1, 3 | 5, 7 of the eight that share TP rank 1; experts 2 x 1.
TEST(RankMap, ShardGroupsByHand) {
  Plan plan = plan_of({.tp = 2, .cp = 2, .dp = 2, .pp = 2}, {.etp = 1, .ep = 4, .edp = 2});
  plan.optimizer_instances = 2;
  EXPECT_EQ(members(plan, 13, Group::dp_shard), (Ranks{13, 15}));
  EXPECT_EQ(members(plan, 13, Group::dp_replicas), (Ranks{9, 13}));
  EXPECT_EQ(members(plan, 13, Group::edp_shard), (Ranks{13}));
  EXPECT_EQ(members(plan, 13, Group::edp_replicas), (Ranks{9, 13}));
  EXPECT_EQ(shard_groups(plan, false).shard, Group::dp_shard);
  EXPECT_EQ(shard_groups(kPlan, false).shard, Group::dp_cp);
  EXPECT_EQ(shard_groups(kPlan, true).shard, Group::edp);
  EXPECT_EQ(members(kPlan, 13, Group::dp_replicas), (Ranks{13}));
  EXPECT_EQ(members(kPlan, 13, Group::etp_ep), (Ranks{12, 13, 14, 15}));
}

TEST(RankMap, HierarchicalContextGroupsByHand) {
  Plan plan = plan_of({.tp = 2, .cp = 4, .dp = 2}, {});
  plan.cp_comm = CpComm::a2a_p2p;
  plan.cp_a2a = 2;
  EXPECT_EQ(members(plan, 3, Group::cp_heads), (Ranks{1, 3}));
  EXPECT_EQ(members(plan, 3, Group::cp_ring), (Ranks{3, 7}));
}

TEST(RankMap, DualPipeCopiesLieOnMirroredStages) {
  Plan plan = plan_of({.tp = 2, .pp = 4}, {});
  EXPECT_EQ(members(plan, 3, Group::copies), (Ranks{3}));
  plan.schedule = PipelineSchedule::dualpipe;
  EXPECT_EQ(members(plan, 1, Group::copies), (Ranks{1, 7}));
  EXPECT_EQ(members(plan, 7, Group::copies), (Ranks{1, 7}));
  EXPECT_EQ(members(plan, 2, Group::copies), (Ranks{2, 4}));
}

TEST(RankMap, DensePlanWithoutExpertGrid) {  // its expert degrees stay 1
  const Plan plan = plan_of({.tp = 2, .dp = 2, .pp = 2}, {});
  EXPECT_EQ(members(plan, 5, Group::edp), (Ranks{5}));
  EXPECT_EQ(members(plan, 5, Group::world), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(members(plan, 5, Group::none), (Ranks{5}));
}

std::vector<Plan> many_plans() {
  std::vector<Plan> plans;
  for (const int tp : {1, 2, 4})
    for (const int cp : {1, 2})
      for (const int dp : {1, 2, 3})
        for (const int pp : {1, 2, 3})
          for (const int etp : {1, 2})
            for (const int ep : {1, 2, 3, 4, 6}) {
              const int block = tp * cp * dp;
              if (block % (etp * ep) != 0) continue;
              plans.push_back(plan_of({.tp = tp, .cp = cp, .dp = dp, .pp = pp},
                                      {.etp = etp, .ep = ep, .edp = block / (etp * ep)}));
            }
  return plans;
}

constexpr Group kPartitions[] = {Group::none,      Group::tp,   Group::cp,  Group::dp,
                                 Group::dp_cp,     Group::ep,   Group::etp, Group::edp,
                                 Group::world};

TEST(RankMap, EveryGroupPartitionsTheWorld) {
  for (const Plan& plan : many_plans()) {
    for (const Group kind : kPartitions) {
      std::multiset<int> seen;
      for (int rank = 0; rank < plan.world(); ++rank) {
        const Ranks group = members(plan, rank, kind);
        ASSERT_TRUE(std::find(group.begin(), group.end(), rank) != group.end()) << summary(plan);
        ASSERT_TRUE(std::is_sorted(group.begin(), group.end()));
        for (const int other : group) ASSERT_EQ(members(plan, other, kind), group) << summary(plan);
        ASSERT_EQ(group.size(), static_cast<std::size_t>(group_size(plan, kind)));
        for (std::size_t i = 1; i < group.size(); ++i) {
          ASSERT_EQ(group[i] - group[i - 1], group_stride(plan, kind));
        }
        if (group.front() == rank) seen.insert(group.begin(), group.end());
      }
      ASSERT_EQ(seen.size(), static_cast<std::size_t>(plan.world()));
      ASSERT_EQ(std::set<int>(seen.begin(), seen.end()).size(), seen.size());
    }
  }
}

TEST(RankMap, AStageHasTheSameRanksInBothGrids) {
  for (const Plan& plan : many_plans()) {
    std::set<std::vector<int>> attention, expert;
    for (int rank = 0; rank < plan.world(); ++rank) {
      const AttentionCoordinates a = attention_coordinates(plan, Rank{rank});
      const ExpertCoordinates e = expert_coordinates(plan, Rank{rank});
      ASSERT_EQ(a.pp, e.pp);
      attention.insert({a.tp, a.cp, a.dp, a.pp});
      expert.insert({e.etp, e.ep, e.edp, e.pp});
      // Experts' gradients are summed where dense ones are: edp x ep x etp covers tp x dp x cp.
      const Ranks group = members(plan, rank, Group::ep);
      for (const int other : group) {
        ASSERT_EQ(attention_coordinates(plan, Rank{other}).pp, a.pp);
      }
    }
    ASSERT_EQ(attention.size(), static_cast<std::size_t>(plan.world()));
    ASSERT_EQ(expert.size(), static_cast<std::size_t>(plan.world()));
  }
}

TEST(RankMap, NextOfPreviousIsSelf) {
  for (const Plan& plan : many_plans()) {
    for (int rank = 0; rank < plan.world(); ++rank) {
      const int next = members(plan, rank, Group::pp_next).back();
      EXPECT_EQ(members(plan, next, Group::pp_prev).back(), rank);
      EXPECT_EQ(attention_coordinates(plan, Rank{next}).pp,
                (attention_coordinates(plan, Rank{rank}).pp + 1) % plan.attention.pp);
    }
  }
}

}  // namespace
}  // namespace pleat
