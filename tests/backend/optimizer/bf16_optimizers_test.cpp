// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every optimizer on weights in bf16 with main parameters beside them: near to fp32, and as many
// bytes as predicted.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/backend/peaks.hpp"

namespace pleat {
namespace {

struct Bf16Case {
  const char* name;
  void (*change)(Plan&);
  friend std::ostream& operator<<(std::ostream& out, const Bf16Case& c) { return out << c.name; }
};

constexpr Bf16Case kCases[] = {
    {"adamw", [](Plan&) {}},
    {"sgd", [](Plan& p) { p.optimizer.kind = OptimizerKind::sgd; }},
    {"lamb", [](Plan& p) { p.optimizer.kind = OptimizerKind::lamb; }},
    {"muon", [](Plan& p) { p.optimizer.kind = OptimizerKind::muon; }},
    {"narrow_moments",
     [](Plan& p) { p.optimizer.exp_avg = DType::bf16, p.optimizer.exp_avg_sq = DType::fp8; }},
    {"narrow_gradients", [](Plan& p) { p.optimizer.main_grads = DType::bf16; }},
    {"sgd_narrow_gradients",
     [](Plan& p) {
       p.optimizer.kind = OptimizerKind::sgd;
       p.optimizer.main_grads = DType::bf16;
     }},
    {"lamb_narrow_gradients",
     [](Plan& p) {
       p.optimizer.kind = OptimizerKind::lamb;
       p.optimizer.main_grads = DType::bf16;
     }},
    {"muon_narrow_gradients",
     [](Plan& p) {
       p.optimizer.kind = OptimizerKind::muon;
       p.optimizer.main_grads = DType::bf16;
     }},
    {"narrow_reductions", [](Plan& p) { p.optimizer.grad_reduce = DType::bf16; }},
    {"state_offload", [](Plan& p) { p.optimizer.state_offload = 0.5; }},
    {"remainders", [](Plan& p) { p.optimizer.main_params = DType::remainder16; }},
    {"lamb_state_offload",
     [](Plan& p) {
       p.optimizer.kind = OptimizerKind::lamb;
       p.optimizer.state_offload = 0.4;
     }},
    {"cpu_offload", [](Plan& p) { p.optimizer.cpu_offload = 1; }},
    {"mixed_offload",
     [](Plan& p) { p.optimizer.cpu_offload = 0.45, p.optimizer.state_offload = 0.3; }},
};

class InBf16 : public testing::TestWithParam<Bf16Case> {};

std::vector<Plan> optimizer_layouts(const Bf16Case& c) {
  std::vector<Plan> all{test::fp32_plan(2, 2), test::tp_plan(2, 2, 2, 2)};
  for (Plan& p : all) c.change(p);
  return all;
}

TEST_P(InBf16, FollowsFp32) {
  TrainConfig config = test::small_config(8);
  config.adamw.lr = 2e-3;
  for (Plan plan : optimizer_layouts(GetParam())) {
    Plan fp32 = plan;
    fp32.optimizer.main_params = DType::fp32;
    const TrainResult wide = test::run(test::small_moe(), fp32, config);
    plan.precision = Precision::bf16;
    const TrainResult narrow = test::run(test::small_moe(), plan, config);
    EXPECT_NE(wide.steps[7].loss, wide.steps[0].loss);
    for (std::size_t s = 0; s < 8; ++s) {
      EXPECT_NEAR(narrow.steps[s].loss, wide.steps[s].loss, 0.01 * wide.steps[s].loss)
          << summary(plan) << " step " << s;
    }
  }
}

TEST_P(InBf16, HoldsAsManyBytesAsPredicted) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  for (Plan plan : optimizer_layouts(GetParam())) {
    plan.precision = Precision::bf16;
    test::expect_peaks(test::small_moe(), plan, config, false);
  }
}

// Where the state is changes no bit, of bf16 weights and of those that codes take the place of.
TEST(Bf16Optimizers, TheHostStepsAsTheDeviceDoes) {
  TrainConfig config = test::small_config(3);
  for (const Precision precision : {Precision::bf16, Precision::mxfp8}) {
    for (Plan plan : {test::fp32_plan(2, 2), test::fp32_plan(4, 2, 2)}) {
      plan.precision = precision;
      const TrainResult device = test::run(test::small_moe(), plan, config);
      for (const double share : {0.4, 1.0}) {
        plan.optimizer.cpu_offload = share;
        const TrainResult host = test::run(test::small_moe(), plan, config);
        EXPECT_EQ(host.steps[2].loss, device.steps[2].loss);
        test::expect_same_bits(host.weights, device.weights);
      }
    }
  }
}

// Directions of both parts first, then their norms, then both steps.
TEST(LambOffload, ChangesNoBit) {
  TrainConfig config = test::small_config(3);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (Plan plan : {test::fp32_plan(2, 2), test::tp_plan(2, 2, 2)}) {
      plan.precision = precision;
      plan.optimizer.kind = OptimizerKind::lamb;
      const TrainResult device = test::run(test::small_moe(), plan, config);
      for (const double share : {0.37, 1.0}) {
        plan.optimizer.state_offload = share;
        const TrainResult away = test::run(test::small_moe(), plan, config);
        EXPECT_EQ(away.steps[2].loss, device.steps[2].loss);
        test::expect_same_bits(away.weights, device.weights);
      }
    }
  }
}

// Terms travel in bf16 and are added in fp32: 1.001 is 1 and 2.003 is 2 then, their sum not 3.004.
TEST(Bf16Optimizers, GradientsTravelInTheTypeThatIsSaid) {
  TrainConfig config = test::small_config(1);
  config.clip_norm = 0;
  config.adjust_gradients = [](Rank rank, std::span<float> values) {
    std::ranges::fill(values, rank.value == 0 ? 1.001F : 2.003F);
  };
  ModelSpec dense = test::small_moe();
  dense.moe.reset();
  dense.moe_layer.assign(4, false);
  for (const Sharding sharding : {Sharding::none, Sharding::zero1}) {
    Plan plan = test::fp32_plan(2);
    plan.sharding = sharding;
    const TrainResult wide = test::run(dense, plan, config);
    plan.optimizer.grad_reduce = DType::bf16;
    const TrainResult narrow = test::run(dense, plan, config);
    for (const auto& [name, gradient] : narrow.gradients) {
      for (const float g : gradient) ASSERT_EQ(g, 3.0F) << name;
      for (const float g : wide.gradients.at(name)) ASSERT_EQ(g, 1.001F + 2.003F) << name;
    }
  }
}

TEST(Bf16Optimizers, NarrowReductionsAreNearToWideOnes) {
  TrainConfig config = test::small_config(1);
  Plan twin = test::fp32_plan(2, 1, 2), layers = test::fp32_plan(4, 2);
  Plan instances = test::fp32_plan(4);
  instances.optimizer_instances = 2;
  layers.sharding = Sharding::zero3;
  ModelSpec tied = test::small_moe();
  tied.tied_embeddings = true;
  for (Plan plan : {test::fp32_plan(4, 2), twin, layers, instances}) {
    const TrainResult wide = test::run(tied, plan, config);
    plan.optimizer.grad_reduce = DType::bf16;
    const TrainResult narrow = test::run(tied, plan, config);
    test::expect_close(narrow.gradients, wide.gradients, 4e-3);
    EXPECT_NE(narrow.gradients.at("layers.2.router"), wide.gradients.at("layers.2.router"));
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, InBf16, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pleat
