// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training in bf16: near to fp32, the same in every layout, half of the bytes and no other ones.
#include <gtest/gtest.h>

#include <ostream>

#include "core/numerics/small_float.hpp"
#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::in_bf16;

using test::fp32_plan;

Plan with(Plan plan, void (*change)(Plan&)) {
  change(plan);
  return plan;
}

ModelSpec small_dense() {
  ModelSpec m = test::small_moe();
  m.moe.reset();
  m.moe_layer.assign(4, false);
  return m;
}

struct Bf16Layout {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const Bf16Layout& l) { return out << l.name; }
};

std::vector<Bf16Layout> bf16_layouts() {
  std::vector<Bf16Layout> all{
      {"dp2_ep2_pp2", fp32_plan(2, 2, 2)},
      {"dp4_unsharded", with(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::none; })},
      {"zero2", with(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero2; })},
      {"zero3", with(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero3; })},
      {"tp2_dp2_ep2", test::tp_plan(2, 2, 2)},
      {"tp2_etp2_ep2", test::folded_plan({2, 1, 2, 1}, 2, 2)},
      {"allgather",
       with(test::tp_plan(2, 2, 4), [](Plan& p) { p.dispatcher = Dispatcher::allgather; })},
      {"recomputed", with(test::tp_plan(2), [](Plan& p) { p.recompute_full = true; })},
      {"narrow_gradients",
       with(test::tp_plan(2, 2, 2), [](Plan& p) { p.optimizer.main_grads = DType::bf16; })}};
  const std::pair<const char*, CpComm> kinds[] = {{"cp2_ring", CpComm::p2p},
                                                  {"cp2_heads", CpComm::all_to_all},
                                                  {"cp2_gathered", CpComm::all_gather}};
  for (const auto& [name, kind] : kinds) {
    all.push_back({name, test::folded_plan({1, 2, 2, 1}, 1, 2)});
    all.back().plan.cp_comm = kind;
  }
  for (Bf16Layout& l : all) l.plan = in_bf16(l.plan);
  return all;
}

// Text that can be learnt: three of four tokens follow from the one before.
void expect_follows(const ModelSpec& model) {
  TrainConfig config = test::small_config(40);
  config.keep_gradients = false;
  config.adamw.lr = 3e-3;
  for (std::size_t i = 1; i < config.text.size(); ++i) {
    const int random = config.text[i];
    if (random % 4 != 0)
      config.text[i] = static_cast<std::uint8_t>((5 * config.text[i - 1] + 1) % 64);
  }
  const TrainResult wide = test::run(model, fp32_plan(), config);
  const TrainResult narrow = test::run(model, in_bf16(fp32_plan()), config);
  EXPECT_LT(wide.steps.back().loss, 0.8 * wide.steps.front().loss);
  bool differs = false;
  for (std::size_t s = 0; s < wide.steps.size(); ++s) {
    EXPECT_NEAR(narrow.steps[s].loss, wide.steps[s].loss, 0.01 * wide.steps[s].loss) << s;
    differs = differs || narrow.steps[s].loss != wide.steps[s].loss;
  }
  EXPECT_TRUE(differs);
}

TEST(Bf16, DenseLossFollowsFp32) { expect_follows(small_dense()); }
TEST(Bf16, MoeLossFollowsFp32) { expect_follows(test::small_moe()); }
TEST(Bf16, LatentAttentionLossFollowsFp32) { expect_follows(test::small_mla()); }

// Weights are bf16 numbers, near those of fp32.
TEST(Bf16, WeightsAreRounded) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;  // choices that rounding cannot change
  const TrainResult wide = test::run(test::small_mla(), fp32_plan(), config);
  const TrainResult narrow = test::run(test::small_mla(), in_bf16(fp32_plan()), config);
  for (const auto& [name, values] : narrow.weights) {
    if (name.ends_with("expert_bias")) continue;  // stays in fp32
    for (const float v : values) ASSERT_EQ(to_float(to_bf16(v)), v) << name;
  }
  test::expect_close(narrow.gradients, wide.gradients, 0.05);
}

class Bf16Layouts : public testing::TestWithParam<Bf16Layout> {};

TEST_P(Bf16Layouts, ComputeWhatOneRankComputes) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;  // choices that rounding cannot change
  const TrainResult one = test::run(test::small_moe(), in_bf16(fp32_plan()), config);
  const TrainResult many = test::run(test::small_moe(), GetParam().plan, config);
  EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-3 * one.steps[0].loss);
  EXPECT_NEAR(many.steps[0].grad_norm, one.steps[0].grad_norm, 1e-2 * one.steps[0].grad_norm);
  test::expect_close(many.gradients, one.gradients, 1.6e-2);
}

TEST_P(Bf16Layouts, RepeatToTheBit) {
  TrainConfig config = test::small_config(2);
  test::skew(config);
  const TrainResult first = test::run(test::small_moe(), GetParam().plan, config);
  const TrainResult again = test::run(test::small_moe(), GetParam().plan, config);
  for (std::size_t s = 0; s < 2; ++s) {
    EXPECT_EQ(first.steps[s].loss, again.steps[s].loss);
    EXPECT_EQ(first.steps[s].grad_norm, again.steps[s].grad_norm);
  }
  test::expect_same_bits(first.weights, again.weights);
}

TEST_P(Bf16Layouts, MemoryIsPredictedToTheByte) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  config.keep_gradients = false;
  const Plan& plan = GetParam().plan;
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    const std::int64_t balanced = balanced_routed_tokens(model, test::small_workload(), plan);
    for (int r = 0; r < plan.world(); ++r) {
      const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
      EXPECT_EQ(
          result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
          peak_live_bytes(program.stages[stage], [&](MicroBatch, LayerIndex) { return balanced; }))
          << model.name << " rank " << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Bf16Layouts, testing::ValuesIn(bf16_layouts()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Bf16, PipelinesAreTheSameBitsAsOneStage) {
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0;  // the norm is added up over stages, in another order
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    const TrainResult one = test::run(model, in_bf16(fp32_plan()), config);
    for (const int vpp : {1, 2}) {
      Plan plan = in_bf16(fp32_plan(1, 1, 2));
      plan.vpp = vpp;
      const TrainResult many = test::run(model, plan, config);
      for (std::size_t s = 0; s < 2; ++s) EXPECT_EQ(many.steps[s].loss, one.steps[s].loss);
      test::expect_same_bits(many.gradients, one.gradients);
      test::expect_same_bits(many.weights, one.weights);
    }
  }
}

TEST(Bf16, RecomputationIsTheSameBits) {
  const TrainConfig config = test::small_config(2);
  const TrainResult kept = test::run(test::small_mla(), in_bf16(fp32_plan()), config);
  Plan plan = in_bf16(fp32_plan());
  plan.recompute_full = true;
  const TrainResult again = test::run(test::small_mla(), plan, config);
  test::expect_same_bits(again.gradients, kept.gradients);
  test::expect_same_bits(again.weights, kept.weights);
}

// Sharding decides where gradients are, not what they are: the same sums in the same order.
TEST(Bf16, ShardingIsTheSameBits) {
  TrainConfig config = test::small_config(2);
  config.clip_norm = 0;
  Plan whole = in_bf16(fp32_plan(4, 2));
  whole.sharding = Sharding::none;
  const TrainResult expected = test::run(test::small_moe(), whole, config);
  const TrainResult actual = test::run(test::small_moe(), in_bf16(fp32_plan(4, 2)), config);
  test::expect_same_bits(actual.gradients, expected.gradients);
  test::expect_same_bits(actual.weights, expected.weights);
}

}  // namespace
}  // namespace pleat
