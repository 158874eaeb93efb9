// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every layout computes what one rank computes: losses and all gradients, with skewed routing and
// an expert without tokens. Where the additions are the same, so are the bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::two_samples;
using test::unsharded;

using test::fp32_plan;

struct ParityLayout {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const ParityLayout& l) {
    return out << l.name;
  }
};

std::vector<ParityLayout> parity_layouts() {
  return {{"DP2", fp32_plan(2)},
          {"DP2_unsharded", unsharded(fp32_plan(2))},
          {"EP2", fp32_plan(2, 2)},
          {"EP4", fp32_plan(4, 4)},
          {"EP2_over_DP4", fp32_plan(4, 2)},
          {"EP2_over_DP4_unsharded", unsharded(fp32_plan(4, 2))},
          {"PP2", fp32_plan(1, 1, 2)},
          {"PP2_EP2", fp32_plan(2, 2, 2)},
          {"EP2_two_samples", two_samples(fp32_plan(2, 2))},
          {"TP2", test::tp_plan(2)},
          {"TP4", test::tp_plan(4)},
          {"TP4_EP4", test::tp_plan(4, 1, 4)},
          {"TP2_DP2_EP4", test::tp_plan(2, 2, 4)},
          {"TP2_DP2_EP2_two_samples", two_samples(test::tp_plan(2, 2, 2))},
          {"TP2_PP2_EP2", test::tp_plan(2, 1, 2, 2)}};
}

ModelSpec dense() {
  ModelSpec m = test::small_moe();
  m.name = "small-dense";
  m.moe.reset();
  m.moe_layer.assign(4, false);
  m.attention.qk_norm = true;
  m.vocab = 66;  // four shards of 17: two rows of padding
  return m;
}

class Parity : public testing::TestWithParam<ParityLayout> {
 protected:
  static void compare(const ModelSpec& model, const Plan& plan) {
    TrainConfig config = test::small_config();
    test::skew(config);
    const TrainResult one = test::run(model, fp32_plan(), config);
    const TrainResult many = test::run(model, plan, config);
    EXPECT_GE(one.min_router_margin, 1e-4);
    EXPECT_GE(many.min_router_margin, 1e-4);
    EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-5 * one.steps[0].loss);
    EXPECT_NEAR(many.steps[0].grad_norm, one.steps[0].grad_norm, 1e-5 * one.steps[0].grad_norm);
    test::expect_close(many.gradients, one.gradients, 1e-5);
    const std::vector<float>& none = one.gradients.at("layers.2.experts.5.fc1");
    EXPECT_EQ(std::count(none.begin(), none.end(), 0.0F), static_cast<std::ptrdiff_t>(none.size()))
        << "the expert is not empty";
  }
};

TEST_P(Parity, LossAndGradientsOfGqa) { compare(test::biased(test::small_moe()), GetParam().plan); }

TEST_P(Parity, LossAndGradientsOfMlaWithGroupedSigmoidRouting) {
  compare(test::small_mla(), GetParam().plan);
}

TEST_P(Parity, LossOfSeveralSteps) {
  TrainConfig config = test::small_config(4);
  test::skew(config);
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), config);
  const TrainResult many = test::run(model, GetParam().plan, config);
  EXPECT_GE(one.min_router_margin, 1e-4);
  for (std::size_t s = 0; s < 4; ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss) << "step " << s;
  }
  EXPECT_NE(one.steps[3].loss, one.steps[0].loss);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Parity, testing::ValuesIn(parity_layouts()),
                         [](const auto& info) { return std::string(info.param.name); });

// Normed heads, shared key and value heads, a vocabulary with padding; with sequence parallelism
// and without.
TEST(DenseParity, OfTensorParallelLayouts) {
  const TrainConfig config = test::small_config(2);
  const TrainResult one = test::run(dense(), fp32_plan(), config);
  for (Plan plan : {test::tp_plan(2), test::tp_plan(4), test::tp_plan(2, 2),
                    test::tp_plan(4, 1, 1, 2), unsharded(test::tp_plan(4, 2))}) {
    for (const bool sequence_parallel : {true, false}) {
      plan.sequence_parallel = sequence_parallel;
      const TrainResult many = test::run(dense(), plan, config);
      EXPECT_NEAR(many.steps[1].loss, one.steps[1].loss, 1e-5 * one.steps[1].loss);
      EXPECT_NEAR(many.steps[1].grad_norm, one.steps[1].grad_norm, 1e-5 * one.steps[1].grad_norm);
      test::expect_close(many.gradients, one.gradients, 1e-5);
    }
  }
}

TEST(DenseParity, OfMlaWithoutSequenceParallelism) {
  ModelSpec model = test::small_mla();
  model.moe.reset();
  model.moe_layer.assign(4, false);
  const TrainConfig config = test::small_config();
  Plan plan = test::tp_plan(2);
  plan.sequence_parallel = false;
  const TrainResult one = test::run(model, fp32_plan(), config);
  test::expect_close(test::run(model, plan, config).gradients, one.gradients, 1e-5);
}

TEST(Routing, IsSkewedInTheseTests) {
  TrainConfig config = test::small_config();
  test::skew(config);
  const TrainResult r = test::run(test::biased(test::small_moe()), fp32_plan(4, 4), config);
  std::int64_t received[4] = {}, all = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(r.ranks[rank].routed.size(), 2U * 3U);  // microbatches x MoE layers
    for (const auto& [where, count] : r.ranks[rank].routed) received[rank] += count.routed;
    all += received[rank];
  }
  EXPECT_EQ(all, 8 * 16 * 2 * 3);             // samples x tokens x top-k x MoE layers
  EXPECT_GT(received[0], 1.5 * received[2]);  // experts 0, 1 against 4, 5
}

TEST(Routing, ForcedRoutingIsBalanced) {
  TrainConfig config = test::small_config();
  config.forced_routing = true;
  const TrainResult r = test::run(test::small_moe(), fp32_plan(4, 4), config);
  for (const RankMeasurement& rank : r.ranks) {
    ASSERT_EQ(rank.routed.size(), 6U);
    for (const auto& [where, count] : rank.routed) EXPECT_EQ(count.routed, 16 * 2);
  }
  EXPECT_EQ(r.min_router_margin, 0);  // no router decided anything
}

TEST(Bits, RepeatsAreIdentical) {
  const TrainConfig config = test::small_config(3);
  for (const Plan& plan : {fp32_plan(4, 2), fp32_plan(2, 2, 2)}) {
    const TrainResult a = test::run(test::small_moe(), plan, config);
    const TrainResult b = test::run(test::small_moe(), plan, config);
    EXPECT_EQ(a.steps[2].loss, b.steps[2].loss);
    EXPECT_EQ(a.steps[2].grad_norm, b.steps[2].grad_norm);
    test::expect_same_bits(a.gradients, b.gradients);
    test::expect_same_bits(a.weights, b.weights);
  }
}

TEST(Bits, RecomputeChangesNothing) {
  const TrainConfig config = test::small_config(2);
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    Plan plan = fp32_plan(2, 2);
    const TrainResult kept = test::run(model, plan, config);
    for (bool full : {false, true}) {
      plan.recompute = {Module::moe_act};
      plan.recompute_full = full;
      const TrainResult again = test::run(model, plan, config);
      EXPECT_EQ(kept.steps[1].loss, again.steps[1].loss);
      test::expect_same_bits(again.gradients, kept.gradients);
      test::expect_same_bits(again.weights, kept.weights);
    }
  }
}

// Without clipping: the norm is added up over stages, in another order.
TEST(Bits, PipeliningChangesNothing) {
  TrainConfig config = test::small_config(3);
  config.clip_norm = 0;
  const std::pair<Plan, Plan> pairs[] = {{fp32_plan(), fp32_plan(1, 1, 2)},
                                         {fp32_plan(2, 2), fp32_plan(2, 2, 2)},
                                         {fp32_plan(), fp32_plan(1, 1, 4)}};
  for (const auto& [flat, piped] : pairs) {
    const TrainResult a = test::run(test::small_moe(), flat, config);
    const TrainResult b = test::run(test::small_moe(), piped, config);
    for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(a.steps[s].loss, b.steps[s].loss) << s;
    test::expect_same_bits(b.gradients, a.gradients);
    test::expect_same_bits(b.weights, a.weights);
  }
}

TEST(Bits, ShardingTheOptimizerChangesNothing) {
  TrainConfig config = test::small_config(3);
  config.clip_norm = 0;
  const TrainResult whole = test::run(test::small_moe(), unsharded(fp32_plan(4, 2)), config);
  const TrainResult sharded = test::run(test::small_moe(), fp32_plan(4, 2), config);
  test::expect_same_bits(sharded.gradients, whole.gradients);
  test::expect_same_bits(sharded.weights, whole.weights);
}

TEST(Training, TheLossFalls) {
  TrainConfig config = test::small_config(30);
  config.adamw.lr = 1e-2;
  for (std::size_t i = 0; i < config.text.size(); ++i) {
    config.text[i] = static_cast<std::uint8_t>(i * i % 17);
  }
  const TrainResult r = test::run(test::small_moe(), fp32_plan(2, 2, 2), config);
  EXPECT_NEAR(r.steps.front().loss, std::log(64.0), 0.1);
  EXPECT_LT(r.steps.back().loss, 0.5 * r.steps.front().loss);
}

}  // namespace
}  // namespace pleat
