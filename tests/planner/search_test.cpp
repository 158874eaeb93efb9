// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search against pricing every plan, at several thread counts, with pins, and when nothing
// fits.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/bounds.hpp"
#include "planner/explain.hpp"
#include "planner/search_space.hpp"
#include "tests/planner/small_case.hpp"

namespace pleat {
namespace {

using namespace test;

struct Priced {
  Seconds step;
  std::size_t index;
  auto operator<=>(const Priced&) const = default;
};

StepEstimate price_plan(const ModelSpec& model, const ClusterSpec& cluster, const Plan& plan,
                        const SearchConfig& config) {
  return estimate(compile(model, small_workload(), plan, config.runtime), cluster, small_profile());
}

// Every plan's estimate, in plan order.
std::vector<Candidate> price_all(const ModelSpec& model, const ClusterSpec& cluster,
                                 const SearchConfig& config) {
  std::vector<Candidate> all;
  for (const Plan& p : enumerate_plans(model, cluster, small_workload(), config).plans) {
    all.push_back({p, price_plan(model, cluster, p, config)});
  }
  return all;
}

// Bytes of a GPU on which the given share of the plans fits.
double memory_for_share(const std::vector<Candidate>& all, const SearchConfig& config,
                        double share) {
  std::vector<std::int64_t> peaks;
  for (const Candidate& c : all) peaks.push_back(c.estimate.peak_bytes());
  std::sort(peaks.begin(), peaks.end());
  const auto index = static_cast<std::size_t>(share * static_cast<double>(peaks.size() - 1));
  return (static_cast<double>(peaks[index]) + 1) / (1 - config.memory_margin);
}

std::vector<Plan> best_of(const std::vector<Candidate>& all, const ClusterSpec& cluster,
                          const SearchConfig& config) {
  std::vector<Priced> fitting;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double usable = cluster.gpu.memory.base() * (1 - config.memory_margin);
    if (static_cast<double>(all[i].estimate.peak_bytes()) <= usable) {
      fitting.push_back({all[i].estimate.step, i});
    }
  }
  std::sort(fitting.begin(), fitting.end());
  std::vector<Plan> best;
  for (std::size_t i = 0; i < fitting.size() && i < static_cast<std::size_t>(config.top); ++i) {
    best.push_back(all[fitting[i].index].plan);
  }
  return best;
}

std::vector<Plan> plans_of(const SearchResult& result) {
  std::vector<Plan> plans;
  for (const Candidate& c : result.best) plans.push_back(c.plan);
  return plans;
}

TEST(Search, EqualsPricingEveryPlan) {
  const ModelSpec model = small_model();
  for (int gpus : {1, 2, 4}) {
    const SearchConfig config = small_config(gpus);
    const std::vector<Candidate> all = price_all(model, small_cluster(), config);
    for (const double share : {1.0, 0.5, 0.02}) {
      const ClusterSpec cluster = small_cluster(memory_for_share(all, config, share));
      const SearchResult result = search(model, cluster, small_workload(), small_profile(), config);
      ASSERT_FALSE(result.best.empty());
      EXPECT_EQ(plans_of(result), best_of(all, cluster, config)) << gpus << " " << share;
      std::int64_t counted = static_cast<std::int64_t>(result.best.size());
      for (const auto& [rule, count] : result.rejected) counted += count;
      EXPECT_EQ(counted, result.enumerated);  // every plan is accounted for
    }
  }
}

TEST(Search, BoundsAreAdmissible) {
  const ModelSpec model = small_model();
  const ClusterSpec cluster = small_cluster();
  const WorkloadSpec workload = small_workload();
  const Profile profile = small_profile();
  const SearchSpace space = enumerate_plans(model, cluster, workload, small_config(4));
  ASSERT_GT(space.plans.size(), 100u);
  LayerPriceTable prices(model, cluster, workload, profile, Runtime::megatron, 1);
  std::size_t overlapped = 0, interleaved = 0;
  for (const Plan& plan : space.plans) {
    prices.prepare({&plan}, false);
    prices.prepare({&plan}, true);
    const StepEstimate e = price_plan(model, cluster, plan, small_config(4));
    const LayerKey key = layer_key(plan);
    for (const bool own : {false, true}) {
      const PlanBounds b =
          bounds(plan, model, workload, prices.at(own ? key : without_recompute(key)), own);
      EXPECT_LE(b.step.base(), e.step.base() * (1 + 1e-9)) << own << " " << summary(plan);
      EXPECT_GT(b.step.base(), 0.1 * e.step.base()) << own << " " << summary(plan);
      EXPECT_LE(b.peak_bytes, e.peak_bytes()) << own << " " << summary(plan);
    }
    overlapped += plan.overlap.expert_parallel;
    interleaved += plan.vpp > 1;
  }
  EXPECT_GT(overlapped, 0u);
  EXPECT_GT(interleaved, 0u);
}

TEST(Search, SameBytesAtAnyThreadCount) {
  const ModelSpec model = small_model();
  const SearchConfig wide = small_config(8);
  const ClusterSpec cluster =
      small_cluster(memory_for_share(price_all(model, small_cluster(), wide), wide, 0.3));
  std::string first;
  for (int threads : {1, 2, 3}) {
    SearchConfig config = wide;
    config.threads = threads;
    const SearchResult r = search(model, cluster, small_workload(), small_profile(), config);
    ASSERT_FALSE(r.best.empty());
    EXPECT_GT(r.rejected.at("memory"), 0);
    const std::string text =
        search_json(r, model, cluster, small_workload(), small_profile(), config);
    if (threads == 1) first = text;
    EXPECT_EQ(text, first) << threads;
  }
}

TEST(Search, PinsAreKept) {
  SearchConfig config = small_config(4);
  config.pp = {2};
  config.ep = {2};
  config.micro_batch = {2};
  config.recompute = false;
  const SearchResult r =
      search(small_model(), small_cluster(), small_workload(), small_profile(), config);
  ASSERT_FALSE(r.best.empty());
  for (const Candidate& c : r.best) {
    EXPECT_EQ(c.plan.attention.pp, 2);
    EXPECT_EQ(c.plan.expert.ep, 2);
    EXPECT_EQ(c.plan.micro_batch, 2);
    EXPECT_TRUE(c.plan.recompute.empty());
    EXPECT_FALSE(c.plan.recompute_full);
  }
}

TEST(Search, NothingFitsGivesTheNearest) {
  const ClusterSpec cluster = small_cluster(1e6);
  const SearchConfig config = small_config(2);
  const SearchResult r = search(small_model(), cluster, small_workload(), small_profile(), config);
  EXPECT_TRUE(r.best.empty());
  ASSERT_EQ(r.nearest.size(), 3u);
  EXPECT_LE(r.nearest[0].estimate.peak_bytes(), r.nearest[1].estimate.peak_bytes());
  EXPECT_LE(r.nearest[1].estimate.peak_bytes(), r.nearest[2].estimate.peak_bytes());
  EXPECT_FALSE(r.nearest[0].estimate.fits);
  EXPECT_GT(r.rejected.at("memory"), 0);
}

}  // namespace
}  // namespace pleat
