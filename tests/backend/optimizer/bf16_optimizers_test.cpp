// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every optimizer on weights in bf16 with main parameters beside them: near to fp32, and as many
// bytes as predicted.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/backend/peaks.hpp"

namespace pleat {
namespace {

struct Case {
  const char* name;
  void (*change)(Plan&);
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

constexpr Case kCases[] = {
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
    {"state_offload", [](Plan& p) { p.optimizer.state_offload = 0.5; }},
};

class InBf16 : public testing::TestWithParam<Case> {};

std::vector<Plan> layouts(const Case& c) {
  std::vector<Plan> all{test::fp32_plan(2, 2), test::tp_plan(2, 2, 2, 2)};
  for (Plan& p : all) c.change(p);
  return all;
}

TEST_P(InBf16, FollowsFp32) {
  TrainConfig config = test::small_config(12);
  config.adamw.lr = 2e-3;
  for (Plan plan : layouts(GetParam())) {
    const TrainResult wide = test::run(test::small_moe(), plan, config);
    plan.precision = Precision::bf16;
    const TrainResult narrow = test::run(test::small_moe(), plan, config);
    EXPECT_NE(wide.steps[11].loss, wide.steps[0].loss);
    for (std::size_t s = 0; s < 12; ++s) {
      EXPECT_NEAR(narrow.steps[s].loss, wide.steps[s].loss, 0.01 * wide.steps[s].loss)
          << summary(plan) << " step " << s;
    }
  }
}

TEST_P(InBf16, HoldsAsManyBytesAsPredicted) {
  TrainConfig config = test::small_config(2);
  config.forced_routing = true;
  for (Plan plan : layouts(GetParam())) {
    plan.precision = Precision::bf16;
    test::expect_peaks(test::small_moe(), plan, config, false);
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, InBf16, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace pleat
