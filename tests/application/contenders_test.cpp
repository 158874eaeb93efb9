// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans race: the winner, one clearly slower, one more, all different.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "application/tune/contest.hpp"
#include "planner/search/search.hpp"

namespace pleat {
namespace {

Candidate candidate(int pp, int ep, int micro_batch, double seconds) {
  Candidate c;
  c.plan.attention = {.tp = 1, .cp = 1, .dp = 4 / pp, .pp = pp};
  c.plan.expert = {.etp = 1, .ep = ep, .edp = 4 / pp / ep};
  c.plan.micro_batch = micro_batch;
  c.estimate.step = Seconds(seconds);
  return c;
}

TEST(Contenders, OneIsClearlySlowerAndGridsDiffer) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 2, 1.00), candidate(1, 4, 4, 1.05), candidate(1, 2, 2, 1.10),
       candidate(1, 4, 1, 1.25), candidate(2, 2, 1, 1.30)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[0].label, "winner");
  EXPECT_EQ(chosen[0].predicted.step, Seconds(1.00));
  EXPECT_EQ(chosen[1].label, "loser 1");
  EXPECT_EQ(chosen[1].predicted.step, Seconds(1.10));  // the close one on another grid
  EXPECT_EQ(chosen[2].predicted.step, Seconds(1.30));  // not 1.25, which is the winner's grid
}

TEST(Contenders, ExactlyTheThresholdIsNotClearlySlower) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 1, 1.0), candidate(1, 2, 1, 1.2), candidate(2, 2, 1, 1.2000001)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[2].predicted.step, Seconds(1.2000001));
}

TEST(Contenders, FarBehindIsPreferredToJustBehind) {
  const std::vector<Contender> chosen =
      choose_contenders({candidate(1, 4, 1, 1.0), candidate(2, 1, 1, 1.1), candidate(1, 2, 1, 1.25),
                         candidate(4, 1, 1, 1.6)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[1].predicted.step, Seconds(1.1));
  EXPECT_EQ(chosen[2].predicted.step, Seconds(1.6));
}

TEST(Contenders, TwoClearLosersWhenNobodyIsClose) {
  const std::vector<Contender> chosen = choose_contenders(
      {candidate(1, 4, 1, 1.0), candidate(1, 2, 1, 1.5), candidate(2, 2, 1, 2.0)});
  ASSERT_EQ(chosen.size(), 3u);
  EXPECT_EQ(chosen[1].predicted.step, Seconds(1.5));
  EXPECT_EQ(chosen[2].predicted.step, Seconds(2.0));
}

TEST(Contenders, ShadesOfOneGridRaceWhenThereIsNoOther) {
  const std::vector<Contender> chosen =
      choose_contenders({candidate(1, 4, 4, 1.0), candidate(1, 4, 1, 1.4)});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[1].plan.micro_batch, 1);
}

TEST(Contenders, AloneWhenThereIsOnePlan) {
  EXPECT_EQ(choose_contenders({candidate(1, 1, 1, 1.0)}).size(), 1u);
}

Contender measured(double predicted, std::vector<double> rounds) {
  Contender c;
  c.predicted.step = Seconds(predicted);
  c.recorded_step = Seconds(2 * predicted);
  c.medians = std::move(rounds);
  return c;
}

TEST(Contenders, AccuracyCountsPairsFarApartAndTheMedianError) {
  // Errors +25%, 0, -20%; pairs beyond 1.2x: 1.0 with 1.5 and 1.0 with 2.0 and 1.5 with 2.0.
  const Accuracy a = accuracy_of({measured(1.0, {0.7, 0.8, 3.0}), measured(1.5, {1.5}),
                                  measured(2.0, {2.5, 2.5, 2.5})});
  EXPECT_DOUBLE_EQ(a.median_error, 0.2);
  EXPECT_EQ(a.pairs, 3);
  EXPECT_EQ(a.ranked, 3);
  const Accuracy wrong =
      accuracy_of({measured(1.0, {2.0}), measured(1.21, {1.9}), measured(1.2, {1.0})});
  // Twice as long where the routing is known: exact, +26%, +140%.
  const std::vector<Contender> routed{measured(1.0, {2.0}), measured(1.21, {1.9}),
                                      measured(1.2, {1.0})};
  EXPECT_NEAR(accuracy_of(routed, Foresight::recorded_routing).median_error, 2.42 / 1.9 - 1, 1e-12);
  EXPECT_EQ(wrong.pairs, 1);  // 1.2 is not more than 20%
  EXPECT_EQ(wrong.ranked, 0);
}

// A model and a machine whose plans this backend runs.
Target here() {
  Target t;
  t.model.name = "small";
  t.model.layers = 4;
  t.model.hidden = 64;
  t.model.vocab = 256;
  t.model.ffn = 128;
  t.model.attention = {.kind = AttentionKind::gqa, .heads = 4, .kv_groups = 4, .head_dim = 16};
  t.model.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 32};
  t.model.moe_layer = {true, true, true, true};
  t.cluster.name = "here";
  t.cluster.gpu.peak_fp32 = FlopsPerSecond(1e11);
  t.cluster.gpu.memory = Bytes(4e9);
  t.cluster.gpu.memory_bandwidth = BytesPerSecond(1e11);
  t.cluster.gpu.host_link = BytesPerSecond(1e10);
  t.cluster.gpus_per_node = 64;
  t.cluster.shared_cores = 2;
  t.cluster.tiers = {{"memory", 0, BytesPerSecond(1e11), Seconds(1e-6)}};
  t.profile = datasheet_profile("here", 1, Runtime::pleat);
  t.workload = {.seq_len = 64, .global_batch = 16, .routing = Routing::natural};
  t.runtime = Runtime::pleat;
  t.gpus = 4;
  return t;
}

TEST(Contenders, SpreadTakesDistinctPlansThatRunHere) {
  const Target t = here();
  SearchConfig config;
  config.gpus = 4;
  config.runtime = Runtime::pleat;
  config.numerics.front().precision = Precision::fp32;
  config.top = 100;
  SearchResult found = search(t, config);
  std::erase_if(found.best, [&](const Candidate& c) { return !runs_here(t, c.plan); });
  ASSERT_GT(found.best.size(), 12u);
  const std::vector<Contender> chosen = spread_contenders(t, found.best, 12);
  ASSERT_EQ(chosen.size(), 12u);
  EXPECT_EQ(chosen.front().plan, found.best.front().plan);
  std::set<std::tuple<int, int, int, int>> grids;
  int bf16 = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Plan& p = chosen[i].plan;
    EXPECT_TRUE(runs_here(t, p)) << summary(p);
    grids.emplace(p.attention.tp, p.attention.cp, p.attention.pp, p.expert.ep);
    if (p.precision == Precision::bf16) ++bf16;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(p, chosen[j].plan);
  }
  EXPECT_EQ(bf16, 1);
  EXPECT_GE(grids.size(), 6u);
}

}  // namespace
}  // namespace pleat
