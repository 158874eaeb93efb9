// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Small models of every family against Hugging Face's own in PyTorch: losses, logits and every
// gradient, as tests/reference/reference.py recorded them.
#include <gtest/gtest.h>

#include "tests/backend/reference/reference_case.hpp"

namespace pleat {
namespace {

using test::difference;
using test::ReferenceCase;
using test::ReferenceOutcome;
using test::Signature;

constexpr double kTolerance = 1e-5;

void expect_gradients(const ReferenceCase& c, const TrainResult& result) {
  EXPECT_EQ(result.gradients.size(), c.gradients.size());
  for (const auto& [name, golden] : c.gradients) {
    ASSERT_TRUE(result.gradients.contains(name)) << name;
    const Signature ours = test::signature(name, result.gradients.at(name));
    EXPECT_LE(difference(ours, golden), kTolerance) << name;
  }
}

void expect_losses(const ReferenceCase& c, const StepRecord& step) {
  const auto near = [&](const char* name, double ours) {
    const double reference = c.losses.contains(name) ? c.losses.at(name) : 0.0;
    EXPECT_NEAR(ours, reference, kTolerance * reference) << name;
  };
  near("loss", step.loss);
  near("mtp", step.extra.mtp);
  near("aux_loss", step.extra.aux);
  near("seq_aux_loss", step.extra.seq_aux);
  near("z_loss", step.extra.z);
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, OneRankComputesWhatTheReferenceDoes) {
  const ReferenceCase c(GetParam());
  const ReferenceOutcome ours = test::run_case(c, test::fp32_plan());
  EXPECT_TRUE(ours.result.min_router_margin == 0 || ours.result.min_router_margin > 1e-5);
  expect_losses(c, ours.result.steps[0]);
  EXPECT_LE(difference(test::signature("logits", ours.logits), c.logits), kTolerance);
  expect_gradients(c, ours.result);
}

// A layout that splits what the model has: samples, experts, layers.
TEST_P(Golden, SoDoSeveralRanks) {
  const ReferenceCase c(GetParam());
  Plan plan = test::fp32_plan(2, c.model.moe ? 2 : 1, c.model.layers > 2 ? 3 : 2);
  if (c.model.mtp_layers > 0) plan.attention.pp = 2;
  const ReferenceOutcome ours = test::run_case(c, plan);
  expect_losses(c, ours.result.steps[0]);
  expect_gradients(c, ours.result);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("llama", "llama-tied-biased", "gpt2", "mixtral",
                                         "qwen2-moe", "qwen3-moe", "deepseek-v3", "glm4-moe",
                                         "dots1", "ernie4-5-moe"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace pleat
