// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans and counters of a search in words: nothing is left out, every rule has a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/counter_words.hpp"
#include "cli/report/plan_report.hpp"
#include "core/plan/constraints.hpp"
#include "tests/simulator/random_cases.hpp"

namespace pleat::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CounterWords, EveryRuleAndEveryOutcomeHasThem) {
  for (const Constraint& rule : constraints())
    EXPECT_NE(words_for_counter(rule.name), "") << rule.name;
  for (const char* name :
       {"memory", "host-memory", "time-bound", "no-effect", "over-saving", "variant", "alike",
        "slower", "not-reached", "delayed-wgrad-biases-in-graph", "delayed-wgrad-shards-in-graph",
        "delayed-scaling-recompute", "delayed-wgrad-tp-overlap", "dropped-tokens-in-graph",
        "ep-overlap-precision", "ep-overlap-predictions", "expert-biases-etp",
        "experts-sequence-parallel",
        "executed-number-formats", "cpu-optimizer-fp8-weights", "cpu-optimizer-sharding",
        "allgather-ranks", "dispatcher-sms", "graph-of-unknown-sizes", "stash-dispatcher"}) {
    EXPECT_NE(words_for_counter(name), "") << name;
  }
}

TEST(CounterWords, MostFirstAndARuleWithoutWordsByItsName) {
  SearchResult r;
  r.enumerated = 1'234'567;
  r.priced = 12;
  r.seconds = 0.5;
  r.rejected = {{"no-effect", 34}, {"some-rule", 1'000'000}, {"world", 5}};
  EXPECT_EQ(counters_text(r, {}),
            "1,234,567 plans in the space, 12 priced, 0.50 s\n"
            "    plans  of the space these\n"
            "1,000,000  break the rule some-rule\n"
            "       34  differ from another plan only in options without effect here\n"
            "        5  have degrees that do not multiply to the GPUs (rule world)\n");
}

TEST(PlanFacts, EveryWordOfTheSummaryIsInALine) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    std::string lines;
    for (const Fact& fact : plan_facts(c.plan, c.model, c.workload)) {
      EXPECT_FALSE(fact.fields.empty()) << fact.name;
      for (const std::string& field : fact.fields) lines += " " + field + " ";
    }
    const std::vector<std::string> hidden = words_of_experts(c.plan, c.model);
    EXPECT_EQ(hidden.empty(), c.model.moe.has_value());
    for (std::string word : words_of(summary(c.plan))) {
      if (word == "|" || std::ranges::find(hidden, word) != hidden.end()) continue;
      if (word == "none") word = "no sharding";
      if (word.starts_with("layout=")) word = word.substr(7);
      EXPECT_THAT(lines, HasSubstr(" " + word + " "));
    }
  }
}

TEST(PlanFacts, WhatPlansShareIsSaidOnce) {
  Plan a, b;
  a.precision = b.precision = Precision::bf16;
  b.attention.tp = 2;
  b.recompute_full = true;
  const std::vector<std::string> common = common_words({&a, &b});
  EXPECT_THAT(common, ElementsAre("bf16", "zero1", "alltoall"));
  EXPECT_EQ(summary_without(b, common),
            "TP2 CP1 DP1 PP1 VPP1 | ETP1 EP1 EDP1 | mbs1 recompute=full");
  EXPECT_THAT(common_words({&a}), ElementsAre());
}

TEST(PlanFacts, NothingOfExpertsWhereThereAreNone) {
  const Plan plan;
  ModelSpec dense;
  EXPECT_THAT(words_of_experts(plan, dense), ElementsAre("ETP1", "EP1", "EDP1", "alltoall", "|"));
  for (const Fact& fact : plan_facts(plan, dense, {})) {
    EXPECT_NE(fact.name, std::string("experts"));
    EXPECT_NE(fact.name, std::string("exchange"));
  }
  EXPECT_EQ(summary_without(plan, words_of_experts(plan, dense)),
            "TP1 CP1 DP1 PP1 VPP1 mbs1 bf16 zero1");
  dense.moe.emplace();
  EXPECT_THAT(words_of_experts(plan, dense), ElementsAre());
}

}  // namespace
}  // namespace pleat::cli
