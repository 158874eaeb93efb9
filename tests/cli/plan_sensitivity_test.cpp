// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat plan --explain and --sensitivity as a user meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Said sensitive_plan(const Words& more) {
  return run_pleat(Words{"plan",   "--model",     "qwen3-30b-a3b", "--cluster", "h100-sxm",
                         "--gpus", "16",          "--seq-len",     "2048",      "--global-batch",
                         "64",     "--precision", "bf16",          "--tp",      "1",
                         "--cp",   "1",           "--micro-batch", "1",         "--top",
                         "2"} +
                   more);
}

double step(const JsonValue& answer) { return *answer.find("step_s")->as_double(); }

TEST(PlanSensitivity, TextSaysWhatBindsAndWhatWouldChangeTheAnswer) {
  const Said run = sensitive_plan({"--explain"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nwhy #1 takes as long\nThe step takes "));
  EXPECT_THAT(run.out, HasSubstr("\nwhat would change the answer\ninput "));
  EXPECT_THAT(run.out, HasSubstr("\nnvlink bandwidth "));
  EXPECT_THAT(
      run.out,
      HasSubstr("Each input a fifth less and a fifth more; the 20 best plans priced again."));
  EXPECT_THAT(run.out, Not(HasSubstr("\n3  ")));  // --top still holds
  const Said plain = sensitive_plan({});
  EXPECT_THAT(plain.out, Not(HasSubstr("\nwhat would change")));
}

TEST(PlanSensitivity, JsonOfListAndSearch) {
  const Said listed = sensitive_plan({"--sensitivity", "plans", "--json"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const JsonValue json = parse_json(listed.out, "stdout");
  const JsonValue& s = *json.find("sensitivity");
  EXPECT_EQ(*s.find("plans")->as_integer(), 20);
  EXPECT_EQ(*s.find("searched")->as_bool(), false);
  EXPECT_EQ(json.find("explain"), nullptr);
  const JsonValue::Array& inputs = s.find("inputs")->items();
  ASSERT_EQ(inputs.size(), 7u);
  EXPECT_EQ(listed.out, sensitive_plan({"--sensitivity", "plans", "--json", "--threads", "1"}).out);
  const Said searched = sensitive_plan({"--sensitivity", "search", "--json"});
  ASSERT_EQ(searched.exit_code, 0) << searched.err;
  const JsonValue other = parse_json(searched.out, "stdout");
  const JsonValue::Array& again = other.find("sensitivity")->find("inputs")->items();
  ASSERT_EQ(again.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (const char* side : {"less", "more"}) {
      const JsonValue &a = *inputs[i].find(side), &b = *again[i].find(side);
      EXPECT_EQ(step(a), step(b));
      EXPECT_TRUE(*b.find("proven")->as_bool());
      if (a.find("best")->is_null()) continue;
      EXPECT_LE(step(*b.find("best")), step(*a.find("best")));
      EXPECT_LE(step(*a.find("best")), *a.find("fits")->as_bool() ? step(a) * (1 + 1e-12) : 1e9);
    }
  }
}

TEST(PlanSensitivity, OfHeadroomThereIsOnlyTheBestPlan) {
  const Words headroom{"--objective", "memory-headroom"};
  const Said listed = sensitive_plan(headroom + Words{"--sensitivity", "plans"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("a fifth more; the best plan priced again."));
  const Said searched = sensitive_plan(headroom + Words{"--sensitivity", "search"});
  EXPECT_EQ(searched.exit_code, 2);
  EXPECT_THAT(searched.err, HasSubstr("--sensitivity search: compares step times, not memory"));
}

TEST(PlanSensitivity, WrongWord) {
  const Said run = sensitive_plan({"--sensitivity", "maybe"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("maybe"));
  EXPECT_EQ(run.out, "");
}

}  // namespace
}  // namespace pleat::cli_test
