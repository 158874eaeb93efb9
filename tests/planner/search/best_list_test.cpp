// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans are listed, whatever the order in which they are found. Times and memory are made up.
#include "planner/search/best_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/diagnostics.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;

constexpr double kGpu = 80e9;
using Reasons = std::vector<std::string>;

// Two meshes of a small space, and memory choices of which `whole` gives up all that others do.
class BestListTest : public testing::Test {
 protected:
  BestListTest() : tree_(problem_, config_) {
    while (tree_.same_mesh(node(0, 0), node(other_, 0))) ++other_;
    act_ = choice({.modules = {Module::moe_act}});
    attention_ = choice({.modules = {Module::core_attn}});
    whole_ = choice({.modules = {}, .full = true});
  }

  [[nodiscard]] static Node node(std::int32_t mesh, std::int16_t memory) {
    return {.bound = {}, .mesh = mesh, .setting = 0, .memory = memory, .level = Level::setting};
  }

  [[nodiscard]] std::int16_t choice(const RecomputeChoice& r) const {
    const auto at = std::ranges::find(tree_.choices, MemoryChoice{.recompute = r, .offload = {}});
    PLEAT_ASSERT(at != tree_.choices.end());
    return static_cast<std::int16_t>(at - tree_.choices.begin());
  }

  Reasons enter(const Node& n, double step, double gigabytes) {
    StepEstimate e;
    e.step = Seconds(step);
    e.memory.push_back({.stage = Stage{0}, .peak = static_cast<std::int64_t>(gigabytes * 1e9)});
    const std::vector<const char*> reasons = list_.enter(n, {}, std::move(e));
    return {reasons.begin(), reasons.end()};
  }

  // Steps of the listed ones, then why others are not.
  [[nodiscard]] std::string taken() {
    const BestList::Taken all = list_.take();
    std::vector<std::string> words;
    for (const Candidate& c : all.best) words.push_back(fmt::format("{}", c.estimate.step.base()));
    words.insert(words.end(), all.others.begin(), all.others.end());
    return fmt::format("{}", fmt::join(words, " "));
  }

  static SearchConfig listing(int top) {
    SearchConfig c = small_search(4);
    c.top = top;
    return c;
  }

  Problem problem_{small_model(), small_cluster(kGpu), short_workload(), small_profile()};
  SearchConfig config_ = listing(3);
  PlanTree tree_;
  BestList list_{tree_, kGpu};
  std::int32_t other_ = 1;  // mesh
  std::int16_t act_ = 0, attention_ = 0, whole_ = 0;
};

TEST_F(BestListTest, APlanThatWasPushedOutComesBack) {
  EXPECT_EQ(enter(node(0, whole_), 1.0, 20), Reasons{});
  EXPECT_EQ(enter(node(other_, 0), 1.3, 40), Reasons{});
  EXPECT_EQ(enter(node(0, act_), 1.1, 40), Reasons{});
  EXPECT_EQ(enter(node(0, attention_), 1.2, 40), Reasons{});  // instead of 1.3
  EXPECT_EQ(list_.cutoff(), Seconds(1.2));
  EXPECT_EQ(enter(node(0, 0), 0.9, 60), Reasons(3, "over-saving"));
  EXPECT_TRUE(std::isinf(list_.cutoff().base()));
  EXPECT_EQ(taken(), "0.9 1.3");
}

TEST_F(BestListTest, WhatKMeshesBeatIsNotKept) {
  config_.top = 2;
  EXPECT_EQ(enter(node(0, 0), 1.0, 20), Reasons{});
  EXPECT_EQ(enter(node(0, act_), 1.4, 10), Reasons{"over-saving"});
  EXPECT_EQ(enter(node(other_, act_), 1.2, 40), Reasons{});
  EXPECT_EQ(enter(node(other_, whole_), 1.1, 20), Reasons{"slower"});  // 1.2
  EXPECT_EQ(enter(node(other_, attention_), 1.15, 20), Reasons{"slower"});
  EXPECT_EQ(taken(), "1 1.1");
}

TEST_F(BestListTest, NearlyTheTimeAndMemoryOfAListedPlanIsNoOther) {
  enter(node(0, whole_), 1.0, 20);
  enter(node(0, act_), 1.004, 23);          // 4 GB are 5% of the GPU
  enter(node(0, attention_), 1.004, 24.5);  // of the listed one; the others lie between
  enter(node(other_, 0), 1.002, 20);
  EXPECT_EQ(list_.cutoff(), Seconds(1.004));
  EXPECT_EQ(taken(), "1 1.002 1.004 alike");
}

TEST_F(BestListTest, APlanOfLessMemoryIsAnother) {
  enter(node(0, whole_), 1.0, 20);
  enter(node(0, act_), 1.004, 15.9);
  enter(node(0, attention_), 1.0041, 16.1);  // near both
  EXPECT_EQ(taken(), "1 1.004 alike");
}

TEST_F(BestListTest, APlanOfHalfAPercentMoreTimeIsAnother) {
  enter(node(0, whole_), 1.0, 20);
  enter(node(0, act_), 1.0049, 20);
  enter(node(0, attention_), 1.0051, 20);  // no matter that it is near one that is not listed
  EXPECT_EQ(taken(), "1 1.0051 alike");
}

// Found in another order, the same plans make the same list.
TEST_F(BestListTest, TheListDoesNotDependOnTheOrder) {
  std::vector<int> order{0, 1, 2, 3, 4};
  do {
    for (const int i : order) {
      if (i == 0) enter(node(0, whole_), 1.0, 20);
      if (i == 1) enter(node(0, act_), 1.004, 20);
      if (i == 2) enter(node(0, attention_), 1.008, 20);
      if (i == 3) enter(node(other_, 0), 1.006, 20);
      if (i == 4) enter(node(other_, act_), 1.02, 20);
    }
    const BestList::Taken all = list_.take();
    ASSERT_EQ(all.best.size(), 3u);
    EXPECT_EQ(all.best[0].estimate.step, Seconds(1.0));
    EXPECT_EQ(all.best[1].estimate.step, Seconds(1.006));
    EXPECT_EQ(all.best[2].estimate.step, Seconds(1.008));
  } while (std::ranges::next_permutation(order).found);
}

// The plan that a near one was folded into may be superseded: of three only the first is left.
TEST_F(BestListTest, ANearPlanComesBack) {
  enter(node(0, whole_), 1.0, 20);
  enter(node(0, act_), 1.004, 20);
  EXPECT_EQ(enter(node(0, attention_), 0.9, 20), Reasons{"over-saving"});  // whole_
  EXPECT_EQ(taken(), "0.9 1.004");
}

// Of pipelines, and of each mesh that is not listed the best.
TEST_F(BestListTest, SlowerPipelinesWithinTwoPercentAreSpares) {
  config_.top = 1;
  std::vector<std::int32_t> pipelines;
  std::int32_t one_stage = -1;
  for (std::int32_t m = 0; m < static_cast<std::int32_t>(tree_.space.meshes.size()); ++m) {
    if (tree_.mesh_of(node(m, 0)).attention.pp == 1) {
      one_stage = m;
      continue;
    }
    const bool known = std::ranges::any_of(
        pipelines, [&](std::int32_t p) { return tree_.same_mesh(node(p, 0), node(m, 0)); });
    if (!known) pipelines.push_back(m);
  }
  ASSERT_GE(pipelines.size(), 3u);
  ASSERT_GE(one_stage, 0);
  enter(node(pipelines[0], 0), 1.0, 20);
  enter(node(one_stage, 0), 1.001, 20);
  enter(node(pipelines[0], whole_), 1.002, 10);
  enter(node(pipelines[1], whole_), 1.015, 10);
  enter(node(pipelines[1], act_), 1.01, 20);
  enter(node(pipelines[2], 0), 1.021, 20);
  const BestList::Taken all = list_.take();
  ASSERT_EQ(all.best.size(), 1u);
  ASSERT_EQ(all.spares.size(), 1u);
  EXPECT_EQ(all.spares.front().estimate.step, Seconds(1.01));
}

}  // namespace
}  // namespace pleat
