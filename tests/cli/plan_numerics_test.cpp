// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat plan --numerics: what each mode may choose, what is given for single fields, what is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

Words numerics_plan(const std::string& model, const std::string& cluster, const std::string& gpus,
                    const std::string& batch) {
  return {"plan", "--model",   model,  "--cluster",      cluster, "--gpus",
          gpus,   "--seq-len", "4096", "--global-batch", batch};
}
const Words kDeepSeekPlan = numerics_plan("deepseek-v3", "gb300-nvl72", "256", "4096");
const Words kQwen = numerics_plan("qwen3-30b-a3b", "h100-sxm", "16", "64");
const Words kFewMeshes{"--tp", "1",    "--cp",
                       "1",    "--pp", "1"};  // enough where formats are asked about

JsonValue plan_answer(const Words& request) {
  const Said run = run_pleat(request + Words{"--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return parse_json(run.out, "stdout");
}
const JsonValue& best_of(const JsonValue& answer) { return answer.find("best")->items().front(); }
double step_of(const JsonValue& candidate) { return *candidate.find("step_s")->as_double(); }
std::string text_of(const JsonValue& object, const char* key) {
  const std::string* text = object.find(key)->as_string();
  return text == nullptr ? "" : *text;
}
std::string told_summary(const JsonValue& answer) {
  return text_of(*best_of(answer).find("plan"), "summary");
}
// "bf16 gradients, bf16 moments"
std::string changes_of(const JsonValue& answer) {
  std::string list;
  for (const JsonValue& c : answer.find("numerics")->find("changes")->items()) {
    EXPECT_FALSE(text_of(c, "risk").empty());
    EXPECT_FALSE(text_of(c, "source").empty());
    list += (list.empty() ? "" : ", ") + text_of(c, "words");
  }
  return list;
}

void expect_numerics_refused(const Words& request, const std::string& message) {
  const Said run = run_pleat(request);
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_THAT(run.err, HasSubstr(message));
}

// README's example: 10.52 s are predicted for the published recipe.
TEST(PlanNumerics, RecipeReachesThePublishedOne) {
  const Words mxfp8{"--precision", "mxfp8"};
  const JsonValue plain = plan_answer(kDeepSeekPlan + mxfp8);
  const JsonValue recipe = plan_answer(kDeepSeekPlan + mxfp8 + Words{"--numerics", "recipe"});
  const double published = step_of(plain.find("compared")->items().front());
  EXPECT_GT(step_of(best_of(plain)), 1.02 * published);
  EXPECT_LE(step_of(best_of(recipe)), 1.01 * published);
  EXPECT_EQ(changes_of(recipe), "bf16 gradients, bf16 moments, fp8 attention, fp8 head");
  EXPECT_EQ(text_of(*recipe.find("numerics"), "recipe"), "deepseek-v3-gb300");
  EXPECT_TRUE(recipe.find("numerics")->find("gain")->is_null());
  // What the default says would be gained is real, and no more than a search gives.
  const JsonValue& gain = *plain.find("numerics")->find("gain");
  ASSERT_TRUE(gain.is_object());
  EXPECT_EQ(text_of(gain, "recipe"), "deepseek-v3-gb300");
  EXPECT_LT(*gain.find("ratio")->as_double(), 0.97);
  EXPECT_NEAR(*gain.find("ratio")->as_double(), step_of(gain) / step_of(best_of(plain)), 1e-9);
  EXPECT_LE(step_of(best_of(recipe)), 1.001 * step_of(gain));
  EXPECT_LE(*gain.find("priced")->as_integer(), *plain.find("priced")->as_integer() / 5);
  EXPECT_EQ(changes_of(plain), "");
}

TEST(PlanNumerics, TheDefaultSaysInALineWhatARecipeWouldGain) {
  const Said run = run_pleat(kQwen + kFewMeshes);
  EXPECT_THAT(run.out, HasSubstr("numerics: megatron-default; as published in qwen3-moe-h100 (fp8 "
                                 "products, bf16 gradients)"));
  EXPECT_THAT(run.out, HasSubstr("--numerics recipe"));
  // Nothing is published for the GPU, or the runtime's formats are all that is.
  EXPECT_THAT(run_pleat(numerics_plan("qwen3-30b-a3b", "a100-sxm", "16", "64") + kFewMeshes).out,
              Not(HasSubstr("numerics:")));
}

TEST(PlanNumerics, AModeThatMayChooseMoreIsNeverSlower) {
  double before = 0;
  for (const char* mode : {"any", "recipe", "megatron-default"}) {
    const double step =
        step_of(best_of(plan_answer(kQwen + kFewMeshes + Words{"--numerics", mode})));
    EXPECT_GE(step, before) << mode;
    before = step;
  }
}

TEST(PlanNumerics, AnyTellsWhatItChangesAndItsRisk) {
  const Words any = kQwen + kFewMeshes + Words{"--numerics", "any"};
  const JsonValue answer = plan_answer(any);
  EXPECT_THAT(changes_of(answer), HasSubstr("bf16 gradients"));
  const JsonValue& certificate = *answer.find("certificate");
  EXPECT_GE(*certificate.find("numerics_searched")->as_integer(), 2);
  EXPECT_GT(*certificate.find("numerics_possible")->as_integer(), 100);
  const std::string text = run_pleat(any).out;
  EXPECT_THAT(text, HasSubstr("numerics: any; "));
  EXPECT_THAT(text, HasSubstr("  bf16 gradients: Gradients are summed"));
  EXPECT_THAT(text, HasSubstr("  not chosen: the optimizer is no number format"));
}

TEST(PlanNumerics, WhatIsGivenWins) {
  for (const char* mode : {"recipe", "any"}) {
    const JsonValue answer =
        plan_answer(kQwen + kFewMeshes +
                    Words{"--numerics", mode, "--precision", "bf16", "--main-grads-dtype", "fp32",
                          "--exp-avg-dtype", "fp16"});
    EXPECT_THAT(told_summary(answer), HasSubstr(" bf16 ")) << mode;
    EXPECT_THAT(told_summary(answer), HasSubstr("exp-avg=fp16")) << mode;
    EXPECT_THAT(told_summary(answer), Not(HasSubstr("grads="))) << mode;
  }
  // Megatron sends rows in bf16; who asks for fp8 gets it priced, in every mode.
  for (const char* mode : {"recipe", "any"}) {
    EXPECT_THAT(told_summary(plan_answer(kQwen + kFewMeshes +
                                         Words{"--numerics", mode, "--fp8-dispatch", "on"})),
                HasSubstr("fp8-dispatch"))
        << mode;
  }
  // All else is still chosen.
  const JsonValue any =
      plan_answer(kQwen + kFewMeshes + Words{"--numerics", "any", "--fp8-dispatch", "on"});
  EXPECT_GT(*any.find("certificate")->find("numerics_possible")->as_integer(), 100);
  EXPECT_THAT(told_summary(any), HasSubstr("exp-avg="));
}

TEST(PlanNumerics, AskingForNarrowAttentionChoosesNarrowProducts) {
  for (const char* mode : {"recipe", "any"}) {
    const std::string found = told_summary(
        plan_answer(kQwen + kFewMeshes + Words{"--numerics", mode, "--fp8-attention", "on"}));
    EXPECT_THAT(found, HasSubstr("fp8-attention")) << mode;
    EXPECT_THAT(found, HasSubstr(" fp8 ")) << mode;
  }
  expect_numerics_refused(kQwen + Words{"--fp8-attention", "on"},
                          "--fp8-attention: has no effect with --precision bf16");
}

TEST(PlanNumerics, ContradictionsNameTheField) {
  // The recipe's bf16 gradients cannot be sent in fp32.
  expect_numerics_refused(kDeepSeekPlan + Words{"--precision", "mxfp8", "--numerics", "recipe",
                                                "--grad-reduce-dtype", "fp32"},
                          "error: --numerics recipe: optimizer.grad_reduce: ");
  expect_numerics_refused(kQwen + Words{"--numerics", "recipes"},
                          "error: --numerics: 'recipes' is no mode\n"
                          "  hint: one of megatron-default, recipe, any");
  expect_numerics_refused(numerics_plan("qwen3-30b-a3b", "a100-sxm", "16", "64") +
                              Words{"--numerics", "any", "--precision", "fp8"},
                          "has no tensor cores for fp8");
}

// DeepSeek's own training sent rows to the experts in fp8, which Megatron does not.
TEST(PlanNumerics, ARecipeThatTheRuntimeLacksIsNotUsedAndSaidSo) {
  const Words request = numerics_plan("deepseek-v3", "h800-sxm", "512", "1024") +
                        Words{"--numerics", "recipe", "--tp", "1",  "--cp",          "1",
                              "--pp",       "8",      "--ep", "64", "--micro-batch", "1"};
  EXPECT_THAT(
      run_pleat(request).out,
      HasSubstr("not used: deepseek-v3-report: fp8_dispatch: Megatron's rows travel in bf16"));
  const JsonValue answer = plan_answer(request);
  const JsonValue& not_used = answer.find("numerics")->find("not_used")->items().front();
  EXPECT_EQ(text_of(not_used, "recipe"), "deepseek-v3-report");
  EXPECT_THAT(told_summary(answer), Not(HasSubstr("fp8-dispatch")));
}

TEST(PlanNumerics, CapacityTakesTheModeToo) {
  const Words job{"capacity", "--model", "qwen3-30b-a3b", "--tokens", "1T",    "--deadline", "90d",
                  "--gpus",   "64",      "--clusters",    "h100-sxm", "--json"};
  const auto plan_of = [&](const Words& more) {
    const Said run = run_pleat(job + more);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out;
  };
  // Which recipe's a short search finds best is not certain.
  const auto of_recipes = testing::AnyOf(HasSubstr("grads=bf16"), HasSubstr("exp-avg=bf16"));
  EXPECT_THAT(plan_of({}), Not(of_recipes));
  EXPECT_THAT(plan_of({"--numerics", "recipe"}), of_recipes);
  expect_numerics_refused(job + Words{"--numerics", "all"}, "--numerics: 'all' is no mode");
}

}  // namespace
}  // namespace pleat::cli_test
