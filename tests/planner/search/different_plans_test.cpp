// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans are listed beside one another, and how the others are counted. Times are made up.
#include "planner/search/different_plans.hpp"

#include <gtest/gtest.h>

namespace pleat {
namespace {

constexpr double kGpuBytes = 80e9;

Candidate saving_candidate(int pp, double step, double gigabytes, std::set<Module> recompute = {}) {
  Candidate c;
  c.plan.attention = {.tp = 1, .cp = 1, .dp = 8 / pp, .pp = pp};
  c.plan.recompute = std::move(recompute);
  c.estimate.step = Seconds(step);
  c.estimate.memory.push_back(
      {.stage = Stage{0}, .peak = static_cast<std::int64_t>(gigabytes * 1e9)});
  return c;
}

TEST(DifferentPlans, VariantsNearAndSlowerOnesAreCounted) {
  Candidate other_layout = saving_candidate(2, 1.01, 20);
  other_layout.plan.layout = "Et*3|tL";
  std::map<std::string, std::int64_t> rejected{{"slower", 7}};
  const std::vector<Candidate> listed = different_plans(
      {saving_candidate(2, 1.0, 20), saving_candidate(2, 1.004, 22, {Module::moe_act}),
       other_layout, saving_candidate(2, 1.011, 20, {Module::layernorm}),
       saving_candidate(4, 1.012, 20), saving_candidate(1, 1.013, 20)},
      3, false, kGpuBytes, rejected);
  ASSERT_EQ(listed.size(), 3u);
  EXPECT_EQ(listed[0].estimate.step, Seconds(1.0));
  EXPECT_EQ(listed[1].estimate.step, Seconds(1.011));
  EXPECT_EQ(listed[2].estimate.step, Seconds(1.012));
  const std::map<std::string, std::int64_t> counts{{"alike", 1}, {"slower", 8}, {"variant", 1}};
  EXPECT_EQ(rejected, counts);
}

TEST(DifferentPlans, ARobustOrderComparesTheEndsOfBands) {
  Candidate a = saving_candidate(2, 1.0, 20), b = saving_candidate(2, 0.9, 20, {Module::moe_act});
  a.estimate.high = Seconds(1.1);
  b.estimate.high = Seconds(1.2);
  std::map<std::string, std::int64_t> rejected;
  EXPECT_EQ(different_plans({a, b}, 2, true, kGpuBytes, rejected).size(), 2u);
  b.estimate.high = Seconds(1.105);
  EXPECT_EQ(different_plans({a, b}, 2, true, kGpuBytes, rejected).size(), 1u);
}

}  // namespace
}  // namespace pleat
