// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which tier the groups of a plan talk over, where its ranks do not fill the domains.
#include <gtest/gtest.h>

#include "simulator/cost/used_domain.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {
namespace {

NetworkTier tier(int size) { return {"tier", size, BytesPerSecond(1e11), Seconds(1e-6)}; }

TEST(UsedDomain, AlikeOrFilledUp) {
  EXPECT_EQ(used_domain(tier(8), 96, 96), 8);
  EXPECT_EQ(used_domain(tier(8), 4, 4), 4);
  EXPECT_EQ(used_domain(tier(0), 100, 4), 100);
  EXPECT_EQ(used_domain(tier(8), 100, 100), 5);  // one stage: it cannot be cut unevenly
  EXPECT_EQ(used_domain(tier(8), 100, 20), 5);
  EXPECT_EQ(used_domain(tier(8), 100, 4), 8);
  EXPECT_EQ(used_domain(tier(8), 100, 1), 8);
  EXPECT_EQ(used_domain(tier(8), 12, 2), 6);    // as few nodes as 8 and 4
  EXPECT_EQ(used_domain(tier(8), 12, 4), 8);    // of 6 a stage of 4 would be
  EXPECT_EQ(used_domain(tier(72), 256, 8), 64);  // as many racks, and each has spares
  EXPECT_EQ(used_domain(tier(72), 256, 9), 72);
}

TEST(UsedDomain, StagesThatFillANodeTalkWithinIt) {
  ClusterSpec cluster;
  cluster.gpus_per_node = 8;
  cluster.tiers = {tier(8), tier(0)};
  Plan plan;
  plan.attention = {.tp = 1, .cp = 1, .dp = 4, .pp = 25};
  plan.expert = {.etp = 1, .ep = 4, .edp = 1};
  const auto place = [&](Group group) {
    return view_cluster(cluster, plan).groups[static_cast<std::size_t>(group)];
  };
  EXPECT_EQ(place(Group::dp).tier, 0u);
  EXPECT_EQ(place(Group::ep).tier, 0u);
  EXPECT_EQ(place(Group::pp_next).tier, 1u);
  plan.attention = {.tp = 1, .cp = 1, .dp = 20, .pp = 5};
  plan.expert = {.etp = 1, .ep = 4, .edp = 5};
  EXPECT_EQ(place(Group::dp).tier, 1u);
  EXPECT_EQ(place(Group::dp).inside, 5);
  EXPECT_EQ(place(Group::ep).tier, 1u);  // 4 of 5 used ones
}

}  // namespace
}  // namespace pleat
