// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The loss on held-out data: what the next step would see, without a trace left in training.
#include "core/program/evaluation.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

// The same global batch in every step.
class SameBatch final : public SampleSource {
 public:
  SameBatch(std::vector<std::uint8_t> text, const WorkloadSpec& w)
      : bytes_(std::move(text), w.seq_len), batch_(w.global_batch) {}
  [[nodiscard]] std::int64_t seq_len() const override { return bytes_.seq_len(); }
  [[nodiscard]] std::int64_t size() const override { return bytes_.size(); }
  void read(std::int64_t sample, std::span<std::int32_t> tokens) const override {
    bytes_.read(sample % batch_, tokens);
  }
  [[nodiscard]] std::string name() const override { return "one batch"; }

 private:
  ConsecutiveBytes bytes_;
  std::int64_t batch_;
};

struct EvaluationCase {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const EvaluationCase& c) {
    return out << c.name;
  }
};

std::vector<EvaluationCase> evaluation_cases() {
  using test::folded_plan;
  const auto with = [](Plan plan, auto change) {
    change(plan);
    return plan;
  };
  return {{"OneRank", test::fp32_plan()},
          {"TP2_DP2_PP2_EP4", folded_plan({.tp = 2, .dp = 2, .pp = 2}, 1, 4)},
          {"CP2_DP2_ETP2_EP2", folded_plan({.cp = 2, .dp = 2}, 2, 2)},
          {"DP4_EP4_zero3", with(folded_plan({.dp = 4}, 1, 4),
                                 [](Plan& p) { p.sharding = Sharding::zero3; })},
          {"DP2_PP2_VPP2_recomputed", with(folded_plan({.dp = 2, .pp = 2}, 1, 2),
                                           [](Plan& p) {
                                             p.vpp = 2;
                                             p.recompute_full = true;
                                           })},
          {"DP2_EP2_mxfp8_beside_bf16", with(folded_plan({.dp = 2}, 1, 2),
                                             [](Plan& p) {
                                               p.precision = Precision::mxfp8;
                                               p.fp8_params = false;
                                             })},
          {"DP2_PP2_EP2_fp8", with(folded_plan({.dp = 2, .pp = 2}, 1, 2),
                                   [](Plan& p) { p.precision = Precision::fp8; })},
          {"PP2_zb_v", with(folded_plan({.pp = 2}, 1, 1), [](Plan& p) {
             p.vpp = 2;
             p.schedule = PipelineSchedule::zb_v;
           })},
          {"PP2_dualpipe_v", with(folded_plan({.pp = 2}, 1, 1), [](Plan& p) {
             p.vpp = 2;
             p.schedule = PipelineSchedule::dualpipe_v;
           })}};
}

ModelSpec model() {
  ModelSpec m = test::small_mla();
  m.moe->aux_loss = 0.01;
  m.moe->bias_update = 0.001;
  return m;
}

class EvaluationOf : public testing::TestWithParam<EvaluationCase> {};

TEST_P(EvaluationOf, IsTheLossThatTheNextStepSees) {
  TrainConfig config = test::small_config(4);
  config.data = std::make_shared<SameBatch>(config.text, test::small_workload());
  config.evaluation = {.data = config.data, .every = 1, .batches = 1};
  const TrainResult r = test::run(model(), GetParam().plan, config);
  EXPECT_LT(r.steps[3].loss, r.steps[0].loss);
  for (std::size_t s = 0; s + 1 < 4; ++s) {
    ASSERT_TRUE(r.steps[s].validation_loss);
    EXPECT_EQ(*r.steps[s].validation_loss, r.steps[s + 1].loss) << s;
  }
}

TEST_P(EvaluationOf, LeavesNoTraceInTraining) {
  TrainConfig config = test::small_config(3);
  test::skew(config);
  config.measure_load = true;
  const TrainResult plain = test::run(model(), GetParam().plan, config);
  std::vector<std::uint8_t> other(config.text.rbegin(), config.text.rend());
  const auto held_out = std::make_shared<ConsecutiveBytes>(other, test::small_workload().seq_len);
  config.evaluation = {.data = held_out, .every = 2, .batches = 3};
  const TrainResult watched = test::run(model(), GetParam().plan, config);
  test::expect_same_bits(watched.weights, plain.weights);
  test::expect_same_bits(watched.gradients, plain.gradients);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(watched.steps[s].loss, plain.steps[s].loss);
    EXPECT_EQ(watched.steps[s].expert_load, plain.steps[s].expert_load);
    EXPECT_EQ(watched.steps[s].validation_loss.has_value(), s >= 1) << s;
  }
  EXPECT_NE(*watched.steps[1].validation_loss, *watched.steps[2].validation_loss);
  for (std::size_t r = 0; r < plain.ranks.size(); ++r) {
    EXPECT_EQ(watched.ranks[r].routed, plain.ranks[r].routed);
    EXPECT_EQ(watched.ranks[r].peak_live_bytes, plain.ranks[r].peak_live_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, EvaluationOf, testing::ValuesIn(evaluation_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

// Held-out data in the same batches whatever the layout.
TEST(Evaluation, IsTheSameOnEveryLayout) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  config.evaluation = {
      .data = std::make_shared<ConsecutiveBytes>(config.text, test::small_workload().seq_len),
      .batches = 2};
  const double one = *test::run(model(), test::fp32_plan(), config).steps[0].validation_loss;
  for (const EvaluationCase& c : evaluation_cases()) {
    if (c.plan.precision != Precision::fp32) continue;
    EXPECT_NEAR(*test::run(model(), c.plan, config).steps[0].validation_loss, one, 1e-5 * one)
        << c.name;
  }
}

// Nothing is kept for a backward pass: the layers' inputs die where they are last read.
TEST(Evaluation, HasNoBackwardOperationsOrSavedTensors) {
  const Program p = compile(model(), test::small_workload(), test::fp32_plan(), Runtime::pleat);
  const StageProgram forward = evaluation_of(p.stages[0]);
  EXPECT_EQ(forward.order.size() * 2, p.stages[0].order.size());
  for (const LayerProgram& layer : forward.layers) {
    EXPECT_TRUE(layer.backward.empty());
    EXPECT_TRUE(saved_tensors(layer).empty());
  }
  ASSERT_EQ(forward.prologue.size(), 1U);
  EXPECT_FALSE(p.stages[0].program(p.stages[0].chunks[0].instances[1]).backward.empty());
}

}  // namespace
}  // namespace pleat
