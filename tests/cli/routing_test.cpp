// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// --routing and --imbalance of plan, predict and capacity.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/plan/plan_document.hpp"
#include "core/spec/expert_load.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

const Words kMixtralStep{
    "predict",   "--model", "mixtral-8x7b",   "--cluster", "h100-sxm", "--gpus", "64",
    "--seq-len", "4096",    "--global-batch", "256",       "--ep",     "8"};

double predicted_step(const Words& words) {
  const Said run = run_pleat(words + Words{"--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return std::atof(run.out.substr(run.out.find("\"step_s\":") + 9).c_str());
}

// The same loads in all 32 layers: the first expert has `first` times the tokens of the others.
std::string loads_file(double first) {
  std::string text = "{";
  for (int l = 0; l < 32; ++l) {
    text += fmt::format("{}\"{}\": [{}, 1, 1, 1, 1, 1, 1, 1]", l == 0 ? "" : ", ", l, first);
  }
  const std::string file = test_folder() + "/loads.json";
  write_text(file, text + "}");
  return file;
}

TEST(Routing, ReachesThePredictionAndThePlanFile) {
  const double balanced = predicted_step(kMixtralStep);
  EXPECT_EQ(predicted_step(kMixtralStep + Words{"--routing", "balanced"}), balanced);
  EXPECT_EQ(predicted_step(kMixtralStep + Words{"--routing", loads_file(1)}), balanced);
  const double given = predicted_step(kMixtralStep + Words{"--imbalance", "1.5"});
  EXPECT_GT(given, 1.05 * balanced);
  // A rank has one expert: x of x + 7 tokens are 1.5 times the mean of 8 where x = 10.5 / 6.5.
  EXPECT_NEAR(predicted_step(kMixtralStep + Words{"--routing", loads_file(10.5 / 6.5)}), given,
              1e-4 * given);

  const std::string plan = test_folder() + "/plan.json";
  const std::string loads = loads_file(3);
  ASSERT_EQ(run_pleat(kMixtralStep + Words{"--routing", loads, "--out", plan, "--force"}).exit_code,
            0);
  const WorkloadSpec w = read_plan_document(read_text(plan), plan).workload;
  EXPECT_EQ(w.routing, Routing::natural);
  ASSERT_EQ(w.expert_loads.size(), 32U);
  EXPECT_EQ(w.expert_loads[31].of.front(), 3);
  EXPECT_EQ(predicted_step({"predict", "--plan", plan}),
            predicted_step(kMixtralStep + Words{"--routing", loads}));
  EXPECT_EQ(predicted_step({"predict", "--plan", plan, "--routing", plan}),
            predicted_step({"predict", "--plan", plan}));
  EXPECT_EQ(predicted_step({"predict", "--plan", plan, "--routing", "balanced"}), balanced);
  EXPECT_EQ(predicted_step({"predict", "--plan", plan, "--imbalance", "1.5"}), given);
}

TEST(Routing, NaturalIsTheModelsRouter) {
  const Said run = run_pleat(kMixtralStep + Words{"--routing", "natural"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("busiest rank"));
  EXPECT_THAT(run.out, HasSubstr("from the spread of loads"));
  const double untrained = predicted_step(kMixtralStep + Words{"--routing", "untrained"});
  const double aux = predicted_step(kMixtralStep + Words{"--routing", "aux-loss"});
  const double bias = predicted_step(kMixtralStep + Words{"--routing", "aux-loss-free"});
  EXPECT_GT(untrained, aux);
  EXPECT_GT(aux, bias);
  EXPECT_GT(bias, predicted_step(kMixtralStep));
  EXPECT_THAT(run_pleat(kMixtralStep).out, Not(HasSubstr("busiest rank")));
}

// Measured step times with forced over those with natural routing: Megatron-MoE-ModelZoo,
// best_practice/qwen3, rows modelzoo-longctx-h100-* of the validation.
TEST(Routing, UntrainedIsTheSlowdownThatWasMeasured) {
  const auto ratio = [](const std::string& seq_len, const std::string& cp) {
    const Words qwen{"predict",
                     "--model",
                     "qwen3-235b-a22b",
                     "--cluster",
                     "h100-sxm",
                     "--gpus",
                     "256",
                     "--seq-len",
                     seq_len,
                     "--global-batch",
                     "256",
                     "--tp",
                     "4",
                     "--pp",
                     "8",
                     "--cp",
                     cp,
                     "--vpp",
                     "4",
                     "--ep",
                     "8",
                     "--dispatcher",
                     "deepep",
                     "--recompute",
                     "layernorm,moe"};
    return predicted_step(qwen) / predicted_step(qwen + Words{"--routing", "untrained"});
  };
  EXPECT_NEAR(ratio("16384", "1"), 11.3754 / 14.1583, 0.01);
  EXPECT_NEAR(ratio("32768", "2"), 27.4393 / 33.1828, 0.01);
  EXPECT_NEAR(ratio("65536", "4"), 76.9202 / 88.4546, 0.01);
  EXPECT_NEAR(ratio("131072", "8"), 247.5392 / 269.751, 0.01);
}

TEST(Routing, ChangesWhatIsFoundAndBooked) {
  const Words search{"plan",
                     "--model",
                     "mixtral-8x7b",
                     "--cluster",
                     "h100-sxm",
                     "--gpus",
                     "16",
                     "--seq-len",
                     "4096",
                     "--global-batch",
                     "64",
                     "--pp",
                     "2",
                     "--cp",
                     "1",
                     "--top",
                     "1"};
  EXPECT_GT(predicted_step(search + Words{"--routing", loads_file(4)}),
            1.02 * predicted_step(search));
  // A model whose experts are best spread over ranks; on one rank they are all as loaded.
  const Words book{"capacity", "--model",    "deepseek-moe-16b", "--tokens", "300B", "--deadline",
                   "60d",      "--clusters", "h100-sxm",         "--gpus",   "16",   "--csv"};
  EXPECT_NE(run_pleat(book + Words{"--imbalance", "2"}).out, run_pleat(book).out);
}

TEST(Routing, WhatIsWrongIsNamed) {
  const auto refused = [](const Words& words, int code, const auto& matcher) {
    const Said run = run_pleat(words);
    EXPECT_EQ(run.exit_code, code) << run.err;
    EXPECT_THAT(run.err, matcher);
  };
  refused(kMixtralStep + Words{"--routing", "even"}, 2,
          AllOf(HasSubstr("--routing"), HasSubstr("balanced")));
  refused(kMixtralStep + Words{"--imbalance", "0.5"}, 2, HasSubstr("--imbalance"));
  refused(kMixtralStep + Words{"--routing", "balanced", "--imbalance", "1.2"}, 2,
          HasSubstr("--imbalance"));
  const std::string file = test_folder() + "/wrong.json";
  write_text(file, R"({"0": [1, 2, 3]})");
  refused(kMixtralStep + Words{"--routing", file}, 3,
          AllOf(HasSubstr("expert_loads.0"), HasSubstr("has 3 loads, the model has 8 experts")));
  refused({"predict", "--model", "llama3-8b", "--cluster", "h100-sxm", "--gpus", "8", "--seq-len",
           "4096", "--global-batch", "64", "--routing", "natural"},
          2, HasSubstr("the model has no experts"));
}

}  // namespace
}  // namespace pleat::cli_test
