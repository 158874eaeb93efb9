// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat plan cut short by limits and signals, and what its objectives promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Words plan(const std::string& model, const std::string& gpus, const std::string& batch) {
  return {"plan",   "--model", model,       "--cluster", "h100-sxm",       "--gpus",
          gpus,     "--seq-len", "4096",    "--global-batch", batch};
}

double candidate_step(const JsonValue& candidate) { return *candidate.find("step_s")->as_double(); }

// A front cut short says nothing of what has less memory; the plan needs no more than its last.
TEST(PlanSearch, HeadroomUnderALimitClaimsNothing) {
  const Said run = run_pleat(plan("qwen3-30b-a3b", "16", "64") +
                             Words{"--objective", "memory-headroom", "--slack", "0.3", "--tp", "1",
                                   "--cp", "1", "--max-evaluations", "40", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  EXPECT_FALSE(*json.find("certificate")->find("optimal")->as_bool());
  EXPECT_FALSE(*json.find("front_optimal")->as_bool());
  const JsonValue::Array& front = json.find("front")->items();
  EXPECT_LE(*json.find("best")->items().front().find("peak_bytes")->as_integer(),
            *front.back().find("peak_bytes")->as_integer());
  EXPECT_GE(*json.find("front_priced")->as_integer(), 40);
}

// Where best-first search is still far from its first plan.
TEST(PlanSearch, ALimitBeforeAnyBoundStillGivesAGoodPlan) {
  const auto best = [](const Words& more) {
    const Said run = run_pleat(Words{"plan", "--model", "deepseek-v3", "--cluster", "gb300-nvl72",
                                     "--gpus", "256", "--seq-len", "4096", "--global-batch",
                                     "4096", "--precision", "mxfp8", "--json"} +
                               more);
    const JsonValue json = parse_json(run.out, run.err);
    return std::pair(candidate_step(json.find("best")->items().front()),
                     *json.find("priced")->as_integer());
  };
  const auto [soon, priced] = best({"--time-limit", "0.001"});
  EXPECT_EQ(priced, 0);
  EXPECT_LT(soon, 1.15 * best({}).first);
}

// The best plan is the same whether those after it are certain or not; what is not certain is said.
TEST(PlanSearch, SaysOfWhichPlansItIsCertain) {
  const Words request = plan("mixtral-8x7b", "32", "512") + Words{"--neighbours", "0"};
  const auto answer = [&](const Words& more) {
    const Said run = run_pleat(request + more + Words{"--json"});
    return parse_json(run.out, run.err);
  };
  const auto certain = [](const JsonValue& json) {
    return *json.find("certificate")->find("certain_plans")->as_integer();
  };
  const JsonValue one = answer({}), all = answer({"--certain", "5"});
  EXPECT_EQ(certain(one), 1);
  EXPECT_EQ(certain(all), 5);
  EXPECT_LT(*one.find("priced")->as_integer(), *all.find("priced")->as_integer());
  const JsonValue::Array &some = one.find("best")->items(), &best = all.find("best")->items();
  ASSERT_EQ(some.size(), 5U);
  ASSERT_EQ(best.size(), 5U);
  EXPECT_EQ(some.front().dump(), best.front().dump());
  EXPECT_LT(candidate_step(some.back()), 1.2 * candidate_step(best.back()));
  const std::string text = run_pleat(request).out;
  EXPECT_THAT(text, HasSubstr("the best plan and 4 other good ones"));
  EXPECT_THAT(text, HasSubstr("--certain 5"));
  const std::string sure = run_pleat(request + Words{"--certain", "5"}).out;
  EXPECT_THAT(sure, HasSubstr("the 5 best plans"));
  EXPECT_THAT(sure, Not(HasSubstr("--certain")));
}

TEST(PlanSearch, NoPlanOfHeadroomIsSlowerThanTheSlack) {
  const Said run = run_pleat(plan("llama3-70b", "64", "96") +
                             Words{"--objective", "memory-headroom", "--slack", "0.02", "--pp", "4",
                                   "--tp", "4,8", "--vpp", "16,20", "--no-offload", "--top",
                                   "5", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  EXPECT_TRUE(*json.find("front_optimal")->as_bool());
  const double fastest = candidate_step(json.find("front")->items().front());
  for (const JsonValue& c : json.find("best")->items())
    EXPECT_LE(candidate_step(c), 1.02 * fastest);
}

TEST(PlanSearch, SignalsPrintWhatIsKnown) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 75}}) {
    const Said run = disturb_pleat(
        plan("deepseek-v3", "2048", "8192") + Words{"--precision", "bf16,fp8_block"}, "",
        [signal = signal](pid_t pid) {
          ::usleep(1'500'000);
          ::kill(pid, signal);
        });
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_THAT(run.out, HasSubstr("stopped ")) << run.err;
    EXPECT_THAT(run.err, HasSubstr("interrupted\n"));
  }
}

TEST(PlanSearch, CapacitySaysWhatItHas) {
  const Said run = disturb_pleat({"capacity", "--model", "deepseek-v3", "--clusters", "h100-sxm",
                                  "--gpus", "2048,4096", "--tokens", "1T", "--budget", "1G",
                                  "--seq-len", "4096", "--global-batch", "8192"},
                                 "", [](pid_t pid) {
                                   ::usleep(1'500'000);
                                   ::kill(pid, SIGTERM);
                                 });
  EXPECT_EQ(run.exit_code, 75) << run.err;
  EXPECT_TRUE(run.out.find("no offer was found yet") != std::string::npos ||
              run.out.find("x h100-sxm") != std::string::npos)
      << run.out;
}

// The layers do not divide over 16 virtual stages: the recipe gets a balanced layout. A recipe that
// is wrong is refused before the search.
TEST(PlanSearch, RecipesAreCheckedFirst) {
  const Words request = plan("deepseek-v3", "256", "2048") +
                        Words{"--max-evaluations", "1", "--precision", "bf16", "--tp", "1", "--cp",
                              "1", "--pp", "2,8", "--micro-batch", "1", "--compare"};
  const Said run = run_pleat(request + Words{"tp=1,pp=2,vpp=8,ep=32"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\n  tp=1,pp=2,vpp=8,ep=32\n    place "));
  EXPECT_THAT(run.out, HasSubstr("\n    plan        TP1 CP1 DP128 PP2 VPP8 "));
  const Said wrong = run_pleat(request + Words{"tp=3,pp=2"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--compare"));
  EXPECT_EQ(wrong.out, "");
}

TEST(PlanSearch, FilesAreKeptUnlessForced) {
  const std::string file = test_folder() + "/plan.json";
  const Words request = plan("qwen3-30b-a3b", "16", "64") +
                        Words{"--tp", "1", "--cp", "1", "--max-evaluations", "1", "--out", file};
  const Said dry = run_pleat(request + Words{"--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.err, HasSubstr("would write"));
  EXPECT_THAT(dry.err, Not(HasSubstr("wrote")));
  write_text(file, "mine");
  const Said kept = run_pleat(request);
  EXPECT_EQ(kept.exit_code, 7);
  EXPECT_THAT(kept.err, HasSubstr("--force replaces it"));
  EXPECT_EQ(read_text(file), "mine");
  EXPECT_EQ(run_pleat(request + Words{"--force"}).exit_code, 0);
  EXPECT_THAT(read_text(file), HasSubstr("qwen3-30b-a3b"));
}

TEST(PlanSearch, FewerGpusThatSuitTheBatchAreHintedAt) {
  const auto on = [](const char* gpus, const Words& more = {}) {
    const Words request{"plan", "--model",   "gpt-1.7b", "--cluster",      "h100-sxm", "--gpus",
                        gpus,   "--seq-len", "2048",     "--global-batch", "480"};
    return run_pleat(request + more);
  };
  EXPECT_THAT(on("28").out, HasSubstr("\nfewer GPUs  24 GPUs would be "));
  const JsonValue found = parse_json(on("28", {"--json"}).out, "search");
  const JsonValue* hint = found.find("hint");
  ASSERT_NE(hint, nullptr);
  const double step = *hint->find("step_s")->as_double();
  EXPECT_LT(step, candidate_step(found.find("best")->items().front()));
  const JsonValue fewer = parse_json(on("24", {"--json"}).out, "search");
  EXPECT_GE(step, candidate_step(fewer.find("best")->items().front()));  // layouts only improve
  EXPECT_EQ(fewer.find("hint"), nullptr);
}

TEST(PlanSearch, CompletionKnowsTheObjectives) {
  const Said script = run_pleat({"completion", "bash"});
  EXPECT_THAT(script.out,
              HasSubstr("--objective) words='throughput time-to-train cost memory-headroom'"));
}

// Pleat's executor has no fused exchange of tokens yet; what one gains is predicted, not run.
TEST(PlanSearch, SaysWhatPleatDoesNotRunAsFastYet) {
  const Words request = plan("qwen3-30b-a3b", "16", "64") +
                        Words{"--dispatcher", "deepep", "--ep", "8", "--neighbours", "0"};
  const std::string word = "deepep runs as the all-to-all";
  const Words pleat{"--runtime", "pleat"};
  EXPECT_THAT(run_pleat(request + pleat).out, HasSubstr(word));
  EXPECT_THAT(run_pleat(request).out, Not(HasSubstr(word)));
  const auto told = [&](const Words& more) {
    const Said run = run_pleat(request + more + Words{"--json"});
    return parse_json(run.out, run.err).find("best")->items().front();
  };
  const JsonValue best = told(pleat);
  const JsonValue::Array& list = best.find("predicted_only")->items();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(*list.front().find("path")->as_string(), "plan.dispatcher");
  EXPECT_EQ(told({}).find("predicted_only"), nullptr);
}

}  // namespace
}  // namespace pleat::cli_test
