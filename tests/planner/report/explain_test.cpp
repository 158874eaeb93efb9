// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden sentences, and changes that really make a plan fit.
#include "planner/report/explain.hpp"
#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;

Candidate candidate(double gemm, double ep_comm, double bubble) {
  Candidate c;
  c.estimate.parts[static_cast<std::size_t>(CostClass::gemm)] = Seconds(gemm);
  c.estimate.parts[static_cast<std::size_t>(CostClass::ep_comm)] = Seconds(ep_comm);
  c.estimate.parts[static_cast<std::size_t>(CostClass::bubble)] = Seconds(bubble);
  c.estimate.step = Seconds(gemm + ep_comm + bubble);
  return c;
}

TEST(ExplainDifference, LargestLossesFirstAndTheGain) {
  EXPECT_EQ(explain_difference(candidate(0.100, 0.020, 0.005), candidate(0.095, 0.050, 0.030)),
            "40.0% slower (50.00 ms more): loses ep_comm +30.00 ms (20.00 -> 50.00), "
            "bubble +25.00 ms (5.00 -> 30.00); gains gemm -5.00 ms (100.00 -> 95.00)");
}

// The four largest whatever their sign, and what they leave: the parts add up to the difference.
TEST(ExplainDifference, WhatIsNamedAddsUp) {
  const auto with = [](double sp, double idle) {
    Candidate c = candidate(0.1, 0.02, 0.05);
    c.estimate.parts[static_cast<std::size_t>(CostClass::tp_comm)] = Seconds(sp);
    c.estimate.parts[static_cast<std::size_t>(CostClass::optimizer)] = Seconds(idle);
    c.estimate.step = c.estimate.step + Seconds(sp + idle);
    return c;
  };
  Candidate loser = with(0.03, 0.002);
  loser.estimate.parts[static_cast<std::size_t>(CostClass::gemm)] = Seconds(0.096);
  loser.estimate.parts[static_cast<std::size_t>(CostClass::ep_comm)] = Seconds(0.04);
  loser.estimate.parts[static_cast<std::size_t>(CostClass::bubble)] = Seconds(0.02);
  loser.estimate.step = Seconds(0.096 + 0.04 + 0.02 + 0.03 + 0.002);
  EXPECT_EQ(explain_difference(with(0.01, 0), loser),
            "4.4% slower (8.00 ms more): loses ep_comm +20.00 ms (20.00 -> 40.00), "
            "tp_comm +20.00 ms (10.00 -> 30.00); gains bubble -30.00 ms (50.00 -> 20.00), "
            "gemm -4.00 ms (100.00 -> 96.00); other +2.00 ms");
}

TEST(ExplainDifference, EqualAndFaster) {
  EXPECT_EQ(explain_difference(candidate(0.1, 0.02, 0), candidate(0.1, 0.02, 0)),
            "as fast within 0.1%");
  EXPECT_EQ(explain_difference(candidate(0.1, 0, 0), candidate(0.08, 0, 0)),
            "20.0% faster (20.00 ms less); gains gemm -20.00 ms (100.00 -> 80.00)");
}

TEST(PlaceOf, CountsThePlansThatAreFaster) {
  SearchResult r;
  r.best = {candidate(0.1, 0, 0), candidate(0.2, 0, 0)};
  EXPECT_EQ(place_of(candidate(0.1, 0, 0).estimate, r), 1);
  EXPECT_EQ(place_of(candidate(0.15, 0, 0).estimate, r), 2);
  EXPECT_EQ(place_of(candidate(0.3, 0, 0).estimate, r), std::nullopt);
}

TEST(ExplainDifference, KindsOfCostMayHaveOtherNames) {
  EXPECT_EQ(explain_difference(candidate(0.1, 0, 0), candidate(0.11, 0, 0),
                               [](CostClass) { return "products"; }),
            "10.0% slower (10.00 ms more): loses products +10.00 ms (100.00 -> 110.00)");
}

TEST(LayoutCertificate, OnlyOfPipelines) {
  const SearchConfig config = small_search(4);
  SearchResult r = search(small_problem(), config);
  r.best.front().plan.attention.pp = 1;
  EXPECT_EQ(layout_gap_of(r, small_problem(), config), 0);
  EXPECT_EQ(layout_certificate(r, 0), "");
}

// "Proven" covers the space, what was found beyond it, and layouts: what is open is said instead.
TEST(Certificate, SaysWhatIsOpen) {
  SearchResult r;
  r.best = {candidate(0.1, 0, 0)};
  r.bound = r.best.front().estimate.step;
  EXPECT_TRUE(is_proven(r));
  EXPECT_EQ(certificate(r), "proven: no plan of the space is faster under the model");

  r.best.front().plan.attention.pp = 2;
  EXPECT_FALSE(is_proven(r));
  EXPECT_EQ(certificate(r, 0.0332),
            "proven but for layouts: no plan of the space is faster under the model; with its "
            "layers laid out otherwise the best could be at most 3.4% faster");
  EXPECT_EQ(layout_certificate(r, 0.0332), "");
  r.best_of_layouts = {true};
  EXPECT_TRUE(is_proven(r));

  r.neighbours = NeighboursTried{
      .tried = 120, .all = false, .best_before = Seconds(0.125), .gain = 0.2, .differences = {}};
  EXPECT_TRUE(is_proven(r));
  EXPECT_EQ(neighbours_text(r),
            "beyond the space: none of 120 legal changes of one or two fields is faster (more were "
            "left when their limit came)");
  r.neighbours->differences = {{"vpp", "4", "2"}};
  EXPECT_FALSE(is_proven(r));
  EXPECT_EQ(certificate(r),
            "not proven: no plan of the space is faster than 125.00 ms, and this one, found among "
            "120 changes beyond the space, is 20.00% better; more changes were left when their "
            "limit came");
  EXPECT_EQ(neighbours_text(r), "what was changed of the best plan of the space: vpp 4 -> 2");
  EXPECT_EQ(layout_certificate(r, 0.0332),
            "layout of #1: within 3.4% of what any contiguous one could reach");
  r.objective = Objective::gpu_time;
  EXPECT_EQ(certificate(r),
            "not proven: no plan on any of the sizes takes fewer GPU-hours within its space, and "
            "this one, found among 120 changes beyond the space, is 20.00% better; more changes "
            "were left when their limit came");
}

TEST(Shortfall, ChangesFitAndTheMissingMemoryIsTold) {
  // 50 MB a GPU: two of them do not hold 10 million parameters with their optimizer, more do.
  const ClusterSpec cluster = small_cluster(5e7);
  SearchConfig config = small_search(2);
  config.runtime = Runtime::pleat;  // no buffers beside the program
  config.pin<"micro-batch">() = {8};
  config.recompute = config.offload = false;
  config.pin<"sharding">() = Sharding::zero1;
  const SearchResult r =
      search({small_model(), cluster, short_workload(), small_profile()}, config);
  ASSERT_TRUE(r.best.empty());
  const auto changes =
      changes_that_fit({small_model(), cluster, short_workload(), small_profile()}, config);
  ASSERT_FALSE(changes.empty());
  EXPECT_LE(changes.size(), 3u);
  for (const FittingChange& c : changes) {
    EXPECT_TRUE(c.candidate.estimate.fits) << c.change;
    EXPECT_LE(static_cast<double>(c.candidate.estimate.peak_bytes()), 5e7 * 0.95) << c.change;
  }
  const std::string text = print_what_would_fit(r, cluster, config, changes);
  EXPECT_NE(text.find("nothing fits: the closest plan needs"), std::string::npos);
  EXPECT_NE(text.find("optimizer"), std::string::npos);
  EXPECT_NE(text.find(changes[0].change), std::string::npos);
}

}  // namespace
}  // namespace pleat
