// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Step time against memory, and jobs that leave GPUs unused, against estimates of every plan.
#include "planner/search/front.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/search/search.hpp"
#include "planner/search/sizes_search.hpp"
#include "tests/planner/search/priced_space.hpp"

namespace pleat {
namespace {

Front front_of(const test::RandomCase& c, const SearchConfig& config, double slack) {
  KnownPrices known;
  const SearchResult fastest = search(c, config, &known);
  return pareto_front(c, config, slack, fastest, known);
}

using test::CaseMaker;
using test::Priced;
using test::RandomCase;

double least_value(const RandomCase& c, const std::vector<Priced>& all, std::int64_t most_bytes) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < c.config.numerics.size(); ++n) {
    std::deque<Priced> by_stage;
    for (const Priced* p : admitted(c, all, n, most_bytes, by_stage)) {
      least = std::min(least, value_of(p->estimate, c.config.robust).base());
    }
  }
  return least;
}

TEST(Front, EachPlanIsTheBestWithItsMemoryAndNoneIsMissing) {
  constexpr double kSlack = 2.0;
  CaseMaker maker(11);
  std::size_t longest = 0;
  for (int i = 0; i < 40; ++i) {
    RandomCase c = maker.make(800);
    const std::vector<Priced> all = price_all(c);
    std::int64_t biggest = 0;
    for (const Priced& p : all) biggest = std::max(biggest, p.estimate.peak_bytes());
    c.cluster.gpu.memory = Bytes(static_cast<double>(biggest) / (1 - c.config.memory_margin) + 16);
    SCOPED_TRACE(i);
    const Front front = front_of(c, c.config, kSlack);
    EXPECT_TRUE(front.optimal);
    if (std::isinf(least_value(c, all, biggest))) {  // no node's memory holds what is offloaded
      EXPECT_TRUE(front.plans.empty());
      continue;
    }
    ASSERT_FALSE(front.plans.empty());
    const auto step_down =
        static_cast<std::int64_t>(kFrontResolution * c.cluster.gpu.memory.base());
    std::int64_t limit = biggest;
    Seconds before;
    for (const Candidate& p : front.plans) {
      const Seconds value = value_of(p.estimate, c.config.robust);
      // A plan that gives up memory for nothing is not of the space (docs/SEARCH.md), though it
      // may be a little faster; with less memory it is.
      EXPECT_LE(value.base(), least_value(c, all, limit));
      EXPECT_GE(value.base(), least_value(c, all, p.estimate.peak_bytes()));
      EXPECT_LT(before, value);
      before = value;
      limit = p.estimate.peak_bytes() - std::max<std::int64_t>(1, step_down);
    }
    const double first = value_of(front.plans.front().estimate, c.config.robust).base();
    EXPECT_GT(least_value(c, all, limit), first * (1 + kSlack));
    longest = std::max(longest, front.plans.size());
  }
  EXPECT_GE(longest, 3u);
}

TEST(Front, NothingFits) {
  CaseMaker maker(1);
  RandomCase c = maker.make(300);
  c.cluster.gpu.memory = Bytes(1e6);
  EXPECT_TRUE(front_of(c, c.config, 0.1).plans.empty());
}

TEST(SizesSearch, FewerThanAPowerOfTwoWhereTheBatchAsksForIt) {
  EXPECT_EQ(sizes_down(128, 16, 480, 8), (std::vector<int>{128, 120, 64, 48, 32, 16}));
  EXPECT_EQ(sizes_down(16, 2, 16, 2), (std::vector<int>{16, 8, 4, 2}));
  EXPECT_EQ(sizes_down(100, 40, 256, 8), (std::vector<int>{100, 64, 50}));
  EXPECT_EQ(sizes_down(63, 16, 256, 8), (std::vector<int>{63, 32, 16}));
  EXPECT_EQ(sizes_down(12, 1, 16, 2), (std::vector<int>{12, 8, 6, 4, 3, 2, 1}));
}

// 9 sequences on 8 GPUs: 6 share out a third each.
TEST(SizesSearch, AHintIsFasterOnFewerGpus) {
  WorkloadSpec nine = test::short_workload();
  nine.global_batch = 9;
  SearchConfig config = test::small_search(8);
  const auto best = [&](int gpus) {
    SearchConfig c = config;
    c.gpus = gpus;
    return search({test::small_model(), test::small_cluster(), nine, test::small_profile()}, c)
        .best.front();
  };
  const auto hint = [&](Seconds value) {
    return faster_on_fewer(
        {test::small_model(), test::small_cluster(), nine, test::small_profile()}, config, value);
  };
  const Candidate six = best(6);
  const auto found = hint(six.estimate.step * 1.01);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->gpus, 6);
  EXPECT_EQ(found->result.best.front().plan, six.plan);
  EXPECT_FALSE(hint(six.estimate.step).has_value());  // faster, not as fast
  config.gpus = 9;
  EXPECT_FALSE(hint(Seconds(1e9)).has_value());  // the batch divides
}

TEST(SizesSearch, HalvesDownToTheSmallest) {
  SearchConfig config = test::small_search(16);
  const auto run = [&](int smallest) {
    return search_sizes(
        test::small_problem(),
        config, smallest);
  };
  std::vector<int> sizes;
  for (const SizeResult& s : run(2)) sizes.push_back(s.gpus);
  EXPECT_EQ(sizes, (std::vector<int>{16, 8, 4, 2}));
  const std::vector<SizeResult> all = run(1);
  for (const SizeResult& s : all) {
    config.gpus = s.gpus;
    const SearchResult alone = search(
        test::small_problem(),
        config);
    ASSERT_EQ(s.result.best.empty(), alone.best.empty());
    if (alone.best.empty()) continue;
    EXPECT_EQ(s.result.best.front().plan, alone.best.front().plan);
    const double own = gpu_seconds(s, false);
    const SizeResult& cheapest = *cheapest_size(all, false);
    EXPECT_LE(gpu_seconds(cheapest, false), own);
    SearchResult proven = cheapest.result;
    certify_sizes(all, Objective::gpu_time, cheapest.gpus, proven);
    EXPECT_TRUE(proven.optimal);
    EXPECT_DOUBLE_EQ(proven.bound.base() * cheapest.gpus, gpu_seconds(cheapest, false));
    EXPECT_LE(fastest_size(all, false)->result.best.front().estimate.step,
              s.result.best.front().estimate.step);
  }
  config.gpus = 12;
  config.max_evaluations = 1;  // a limit ends it
  const std::vector<SizeResult> cut = run(1);
  EXPECT_EQ(cut.size(), sizes_down(12, 1, test::short_workload().global_batch,
                                   test::small_cluster().gpus_per_node)
                            .size());
  for (std::size_t i = 1; i < cut.size(); ++i) EXPECT_EQ(cut[i].problem, "not reached");
  SearchResult first = cut.front().result;
  certify_sizes(cut, Objective::step_of_sizes, 12, first);
  EXPECT_FALSE(first.optimal);
  EXPECT_EQ(first.bound, Seconds{});
}

}  // namespace
}  // namespace pleat
