// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pins, limits, progress, and what is told when nothing fits. The answers themselves are checked in
// search_oracle_test.cpp.
#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include "core/spec/catalog.hpp"
#include "planner/report/explain.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;

SearchResult search_small(const SearchConfig& config, double gpu_bytes = 80e9) {
  return search({small_model(), small_cluster(gpu_bytes), short_workload(), small_profile()},
                config);
}

std::int64_t counted(const SearchResult& r) {
  auto sum = static_cast<std::int64_t>(r.best.size());
  for (const auto& [rule, plans] : r.rejected) sum += plans;
  return sum;
}

TEST(Search, PinsAreKept) {
  SearchConfig config = small_search(8);
  config.pin<"pp">() = {2};
  config.pin<"ep">() = {2};
  config.pin<"micro-batch">() = {2};
  config.pin<"sharding">() = Sharding::zero1;
  config.pin<"dispatcher">() = Dispatcher::allgather;
  config.pin<"cuda-graph">() = CudaGraph::partial;
  config.pin<"cp">() = {2};
  config.pin<"cp-comm">() = CpComm::all_gather;
  config.pin<"ep-overlap">() = false;
  config.pin<"shared-expert-overlap">() = false;
  config.pin<"tp-overlap">() = false;
  config.recompute = false;
  config.offload = false;
  const SearchResult r = search_small(config);
  ASSERT_FALSE(r.best.empty());
  for (const Candidate& c : r.best) {
    EXPECT_EQ(c.plan.attention.pp, 2);
    EXPECT_EQ(c.plan.attention.cp, 2);
    EXPECT_EQ(c.plan.expert.ep, 2);
    EXPECT_EQ(c.plan.micro_batch, 2);
    EXPECT_EQ(c.plan.dispatcher, Dispatcher::allgather);
    EXPECT_EQ(c.plan.cuda_graph, CudaGraph::partial);
    EXPECT_EQ(c.plan.cp_comm, CpComm::all_gather);
    EXPECT_EQ(c.plan.overlap, OverlapFlags{});
    EXPECT_TRUE(c.plan.recompute.empty());
    EXPECT_FALSE(c.plan.recompute_full);
    EXPECT_TRUE(c.plan.offload.empty());
  }
}

TEST(Search, NumericsAreThoseAskedFor) {
  SearchConfig config = small_search(2);
  config.numerics = {{.precision = Precision::fp8, .optimizer = {}, .fp8_attention = true}};
  config.numerics.front().optimizer.exp_avg = DType::bf16;
  for (const Candidate& c : search_small(config).best) {
    EXPECT_EQ(c.plan.precision, Precision::fp8);
    EXPECT_TRUE(c.plan.fp8_attention);
    EXPECT_FALSE(c.plan.fp8_head);
    EXPECT_EQ(c.plan.optimizer.exp_avg, DType::bf16);
  }
}

TEST(Search, ALimitGivesABoundAndAGap) {
  const SearchConfig config = small_search(8);
  const SearchResult whole = search_small(config);
  ASSERT_TRUE(whole.optimal);
  EXPECT_EQ(whole.bound.base(), whole.best.front().estimate.step.base());
  EXPECT_EQ(whole.rejected.count("not-reached"), 0u);
  SearchConfig limited = config;
  limited.max_evaluations = 1;
  const SearchResult cut = search_small(limited);
  EXPECT_FALSE(cut.optimal);
  EXPECT_LT(cut.priced, whole.priced);
  EXPECT_GT(cut.rejected.at("not-reached"), 0);
  EXPECT_LE(cut.bound.base(), whole.best.front().estimate.step.base());
  EXPECT_GT(cut.bound.base(), 0);
  EXPECT_EQ(counted(cut), cut.enumerated);
  EXPECT_EQ(cut.enumerated, whole.enumerated);
  limited.max_evaluations = 1'000'000;  // more than there are
  EXPECT_TRUE(search_small(limited).optimal);
}

TEST(Search, ProgressIsToldAndCanStop) {
  SearchConfig config = small_search(8);
  const SearchResult whole = search_small(config);
  std::vector<SearchProgress> told;
  config.progress = [&](const SearchProgress& p) {
    told.push_back(p);
    return true;
  };
  EXPECT_EQ(search_small(config).best.front().plan, whole.best.front().plan);
  ASSERT_GT(told.size(), 1u);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].bound, told[i - 1].bound);
    EXPECT_GE(told[i].priced, told[i - 1].priced);
    if (!told[i].best) continue;
    EXPECT_GE(*told[i].best, whole.best.front().estimate.step);
  }
  config.progress = [](const SearchProgress& p) { return !p.best; };
  const SearchResult stopped = search_small(config);
  EXPECT_FALSE(stopped.optimal);
  EXPECT_FALSE(stopped.best.empty());
}

// Best-first search has no plan after its first rounds: one that fits is looked for apart.
TEST(Search, ALimitBeforeAnyPlanStillGivesOne) {
  SearchConfig config = small_search(8);
  const SearchResult whole = search_small(config);
  config.max_rounds = 1;
  const SearchResult cut = search_small(config);
  EXPECT_FALSE(cut.optimal);
  EXPECT_EQ(cut.priced, 0);
  ASSERT_EQ(cut.best.size(), 1u);
  EXPECT_TRUE(cut.best.front().estimate.fits);
  EXPECT_GE(cut.best.front().estimate.step, whole.best.front().estimate.step);
  EXPECT_LE(cut.best.front().estimate.step, 1.1 * whole.best.front().estimate.step);
  EXPECT_LE(cut.bound, whole.best.front().estimate.step);
  EXPECT_EQ(counted(cut), cut.enumerated);
  config.threads = 3;
  EXPECT_EQ(search_small(config).best.front().plan, cut.best.front().plan);
  config.time_limit = 1e-9;  // before any bound
  const SearchResult late = search_small(config);
  EXPECT_EQ(late.bound.base(), 0);
  EXPECT_EQ(late.best.front().plan, cut.best.front().plan);
  EXPECT_EQ(counted(late), late.enumerated);
}

// What a slow machine shows beforehand, because no plan has been found yet, is no part of the
// answer.
TEST(Search, WhatIsShownBeforehandChangesNothing) {
  for (const int rounds : {0, 3}) {
    SearchConfig config = small_search(8);
    config.max_rounds = rounds;
    const SearchResult quiet = search_small(config);
    std::optional<Seconds> shown;
    config.patience = -1;
    config.progress = [&](const SearchProgress& p) {
      if (!shown) shown = p.best;
      return true;
    };
    const SearchResult told = search_small(config);
    EXPECT_TRUE(shown.has_value());
    ASSERT_EQ(told.best.size(), quiet.best.size());
    for (std::size_t i = 0; i < told.best.size(); ++i) {
      EXPECT_EQ(told.best[i].plan, quiet.best[i].plan) << i;
    }
    EXPECT_EQ(told.rejected, quiet.rejected);
    EXPECT_EQ(told.fallback_priced, quiet.fallback_priced);
    EXPECT_EQ(told.met.size(), quiet.met.size());
  }
}

// Nodes with the smallest bounds come first, and most of these do not fit: without dives there are
// no plans for a long time.
TEST(Search, PlansComeLongBeforeTheEnd) {
  WorkloadSpec workload;
  workload.seq_len = 4096;
  workload.global_batch = 512;
  const Problem problem{load_model("mixtral-8x7b").model, load_cluster("h100-sxm"), workload,
                        load_profile("h100-sxm-megatron")};
  SearchConfig config = small_search(32);
  config.numerics.front().precision = Precision::bf16;
  config.pin<"tp">() = {1, 2};
  const SearchResult whole = search(problem, config);
  ASSERT_TRUE(whole.optimal);
  config.max_rounds = 192;  // of some 550
  const SearchResult cut = search(problem, config);
  EXPECT_FALSE(cut.optimal);
  EXPECT_GT(cut.priced, 0);
  ASSERT_FALSE(cut.best.empty());
  EXPECT_LE(cut.best.front().estimate.step, 1.02 * whole.best.front().estimate.step);
  EXPECT_LE(cut.bound, whole.best.front().estimate.step);
}

// Meshes with and without stages in one NVLink domain, where threads ask for bounds in any order.
TEST(Search, CountsAreTheSameAtAnyNumberOfThreads) {
  WorkloadSpec workload;
  workload.seq_len = 8192;
  workload.global_batch = 128;
  const Problem problem{load_model("llama3-70b").model, load_cluster("gb200-nvl72"), workload,
                        load_profile("gb200-nvl72-megatron")};
  SearchConfig config = small_search(64);
  config.numerics.front().precision = Precision::bf16;
  config.pin<"tp">() = {4};
  config.pin<"pp">() = {1, 2};
  const SearchResult one = search(problem, config);
  for (int again = 0; again < 4; ++again) {
    config.threads = 2 + again % 2;
    const SearchResult several = search(problem, config);
    EXPECT_EQ(several.priced, one.priced);
    EXPECT_EQ(several.rejected, one.rejected);
  }
}

// The second choice is searched first; the first one's plans are faster.
SearchConfig two_numerics(ClusterSpec& cluster) {
  cluster.gpu.peak_fp8 = FlopsPerSecond(2e13);
  SearchConfig config = small_search(8);
  config.numerics.resize(2);
  config.numerics[0].precision = Precision::fp8;
  return config;
}

TEST(Search, ABoundThatIsToldHoldsForAllNumerics) {
  ClusterSpec cluster = small_cluster();
  SearchConfig config = two_numerics(cluster);
  const auto run = [&](const SearchConfig& c) {
    return search({small_model(), cluster, short_workload(), small_profile()}, c);
  };
  std::vector<SearchProgress> told;
  config.progress = [&](const SearchProgress& p) {
    told.push_back(p);
    return true;
  };
  const SearchResult whole = run(config);
  const Seconds best = whole.best.front().estimate.step;
  EXPECT_EQ(whole.best.front().plan.precision, Precision::fp8);
  EXPECT_EQ(whole.bound, best);
  SearchConfig slower = config;
  slower.numerics = {config.numerics[1]};
  slower.progress = {};
  const Seconds slow = run(slower).best.front().estimate.step;
  ASSERT_LT(best, slow);
  std::size_t with_bound = 0;  // while the slower numerics were searched
  for (const SearchProgress& p : told) {
    EXPECT_LE(p.bound, best);
    with_bound += p.bound.base() > 0 && p.best && *p.best >= slow;
  }
  EXPECT_GT(with_bound, 0u);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].priced, told[i - 1].priced);
    EXPECT_GE(told[i].seconds, told[i - 1].seconds);
  }

  config.progress = [](const SearchProgress& p) { return !p.best || p.bound.base() == 0; };
  const SearchResult stopped = run(config);
  EXPECT_FALSE(stopped.optimal);
  EXPECT_GT(stopped.bound.base(), 0);
  EXPECT_LE(stopped.bound, best);
  EXPECT_EQ(stopped.best.front().plan.precision, Precision::bf16);
  ASSERT_FALSE(stopped.not_tried.empty());
  EXPECT_EQ(stopped.not_tried.back().what, "choice 1 of the number formats, fp8");
  EXPECT_EQ(counted(stopped), stopped.enumerated);
}

TEST(Search, NothingIsKnownOfNumericsThatWereNotBounded) {
  ClusterSpec cluster = small_cluster();
  SearchConfig config = two_numerics(cluster);
  config.progress = [](const SearchProgress&) { return false; };
  const SearchResult stopped =
      search({small_model(), cluster, short_workload(), small_profile()}, config);
  EXPECT_FALSE(stopped.optimal);
  EXPECT_EQ(stopped.bound.base(), 0);
  ASSERT_EQ(stopped.best.size(), 1u);
  EXPECT_EQ(stopped.best.front().plan.precision, Precision::bf16);
}

TEST(Search, TheMarginStaysFree) {
  SearchConfig config = small_search(2);
  config.top = 1000;
  config.offload = false;  // so that there are not very many
  config.memory_margin = 0.5;
  for (const Candidate& c : search_small(config, 5e9).best) {
    EXPECT_LE(static_cast<double>(c.estimate.peak_bytes()), 2.5e9);
  }
}

TEST(Search, NothingFitsGivesTheNearest) {
  const SearchResult r = search_small(small_search(2), 1e6);
  EXPECT_TRUE(r.best.empty());
  ASSERT_EQ(r.nearest.size(), 3u);
  EXPECT_LE(r.nearest[0].estimate.peak_bytes(), r.nearest[1].estimate.peak_bytes());
  EXPECT_LE(r.nearest[1].estimate.peak_bytes(), r.nearest[2].estimate.peak_bytes());
  EXPECT_FALSE(r.nearest[0].estimate.fits);
  EXPECT_GT(r.rejected.at("memory"), 0);
}

}  // namespace
}  // namespace pleat
