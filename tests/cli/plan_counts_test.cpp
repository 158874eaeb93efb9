// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What pleat plan counts: plans enumerated, listed, rejected and priced, whatever is told beside
// them.
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using Words = std::vector<std::string>;

Words request() {
  return {"plan",  "--model", "qwen3-30b-a3b", "--cluster", "h100-sxm", "--gpus", "16",
          "--seq-len", "4096", "--global-batch", "512", "--tp", "1", "--pp", "1,2",
          "--ep",  "8",       "--vpp",         "1,4,6",     "--micro-batch", "1,2",
          "--dispatcher", "deepep", "--cuda-graph", "partial", "--sharding", "zero1",
          "--no-offload", "--json"};
}

JsonValue counted_plan(const Words& more) {
  const Said run = run_pleat(request() + more);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return parse_json(run.out, "stdout");
}

// enumerated - best - sum(rejected)
std::int64_t uncounted(const JsonValue& found) {
  std::int64_t left = *found.find("enumerated")->as_integer() -
                      static_cast<std::int64_t>(found.find("best")->items().size());
  for (const JsonMember& rule : found.find("rejected")->members()) left -= *rule.value.as_integer();
  return left;
}

// More plans are ranked for some of these than are listed.
TEST(PlanCounts, EveryPlanIsCountedOnceWithEveryOption) {
  const std::vector<Words> options{{},
                                   {"--explain"},
                                   {"--sensitivity", "plans"},
                                   {"--html", test_folder() + "/page.html"},
                                   {"--compare", "tp=1,pp=2,ep=8"},
                                   {"--top", "2", "--explain"},
                                   {"--pareto"},
                                   {"--objective", "memory-headroom"},
                                   {"--objective", "memory-headroom", "--max-evaluations", "40"},
                                   {"--max-evaluations", "20", "--explain"}};
  for (const Words& more : options) {
    SCOPED_TRACE(more.empty() ? "" : more.front() + " " + more.back());
    const JsonValue found = counted_plan(more);
    EXPECT_EQ(uncounted(found), 0);
    EXPECT_LE(found.find("best")->items().size(), 5u);
  }
}

// A front is of several searches, the counts beside the list of one.
TEST(PlanCounts, AFrontsPricesAreCountedApart) {
  const JsonValue alone = counted_plan({}), front = counted_plan({"--pareto"});
  EXPECT_EQ(*front.find("priced")->as_integer(), *alone.find("priced")->as_integer());
  EXPECT_GT(*front.find("front_priced")->as_integer(), *alone.find("priced")->as_integer());
}

// A round of the search prices no more than is left; what a limit leaves without any plan has one
// of other estimates.
TEST(PlanCounts, NoMorePlansArePricedThanAllowed) {
  for (const int most : {1, 3, 20}) {
    const JsonValue found =
        counted_plan({"--max-evaluations", std::to_string(most), "--precision", "bf16,fp8_block"});
    const std::int64_t priced = *found.find("priced")->as_integer();
    EXPECT_LE(priced, most);
    EXPECT_GT(priced + *found.find("fallback_priced")->as_integer(), 0);
    EXPECT_EQ(uncounted(found), 0);
  }
  const JsonValue soon = counted_plan({"--time-limit", "0.0001"});
  EXPECT_GT(*soon.find("fallback_priced")->as_integer(), 0);
}

TEST(PlanCounts, ThereIsNoGapWithoutAPlan) {
  const Said run = run_pleat(request() + Words{"--memory-margin", "0.99"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_TRUE(parse_json(run.out, run.err).find("certificate")->find("gap")->is_null());
}

}  // namespace
}  // namespace pleat::cli_test
