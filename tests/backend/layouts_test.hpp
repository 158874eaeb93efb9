// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The parity suite: five steps of every layout against one rank, on models with a shared expert,
// several experts a rank, skewed routing and an expert that gets nothing.
#pragma once

#include <gtest/gtest.h>

#include <ostream>

#include "backend/init.hpp"
#include "tests/backend/layouts.hpp"
#include "tests/backend/peaks.hpp"

namespace pleat::test {

inline std::ostream& operator<<(std::ostream& out, const SuiteLayout& l) { return out << l.name; }

inline ModelSpec model_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::gqa: {
      ModelSpec m = biased(small_moe());
      m.attention.qk_norm = true;
      return m;
    }
    case Architecture::mla: return small_mla();
    case Architecture::dense: {
      ModelSpec m = small_moe();
      m.name = "small-dense";
      m.moe.reset();
      m.moe_layer.assign(4, false);
      m.vocab = 66;  // shards with padding
      return m;
    }
  }
  return {};
}

// A step proportional to the gradient: AdamW without memory, whose eps is all of its denominator.
inline TrainConfig sgd_like(int steps) {
  TrainConfig config = small_config(steps);
  skew(config);
  config.adamw = {.lr = 300, .beta1 = 0, .beta2 = 0, .eps = 1000};
  return config;
}

inline const TrainResult& one_rank(Architecture architecture, const TrainConfig& config,
                                   const std::string& key) {
  static std::map<std::pair<Architecture, std::string>, TrainResult> known;
  auto found = known.find({architecture, key});
  if (found == known.end()) {
    found =
        known
            .emplace(std::pair{architecture, key}, run(model_of(architecture), fp32_plan(), config))
            .first;
  }
  return found->second;
}

// Weights after a step of AdamW, whose direction is the gradient's sign: elements with gradients
// that vanish beside their tensor's are left out. Returns how many.
inline std::int64_t expect_close_where_gradients_are(const TrainResult& many,
                                                     const TrainResult& one) {
  std::int64_t left_out = 0;
  for (const auto& [name, gradient] : one.gradients) {
    double squares = 0;
    for (float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
    const double tiny = 1e-4 * std::sqrt(squares / static_cast<double>(gradient.size()));
    std::vector<float> a, b;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      if (gradient[i] != 0 && std::abs(static_cast<double>(gradient[i])) <= tiny) {
        ++left_out;
        continue;
      }
      a.push_back(many.weights.at(name)[i]);
      b.push_back(one.weights.at(name)[i]);
    }
    EXPECT_LE(relative_difference(a, b), 1e-5) << name;
  }
  return left_out;
}

class LayoutSuite : public testing::TestWithParam<SuiteLayout> {};

TEST_P(LayoutSuite, FiveStepsAsOnOneRank) {
  const auto& [name, plan, architecture] = GetParam();
  const TrainConfig config = sgd_like(5);
  const TrainResult& one = one_rank(architecture, config, "sgd");
  const TrainResult many = run(model_of(architecture), plan, config);
  if (architecture != Architecture::dense) {
    ASSERT_GE(one.min_router_margin, 1e-5);
    const std::vector<float>& none = one.gradients.at("layers.2.experts.5.fc1");
    EXPECT_EQ(std::count(none.begin(), none.end(), 0.0F), std::ssize(none));
  }
  for (std::size_t s = 0; s < 5; ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss) << s;
    EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm, 1e-5 * one.steps[s].grad_norm)
        << s;
  }
  std::vector<float> start(one.weights.at("head").size());
  fill_normal("head", config.seed, 0, start);
  EXPECT_GT(relative_difference(one.weights.at("head"), start), 0.01);  // five steps have an effect
  expect_close(many.gradients, one.gradients, 1e-5);
  expect_close(many.weights, one.weights, 1e-5);
}

TEST_P(LayoutSuite, AStepOfAdamWAsOnOneRank) {
  const auto& [name, plan, architecture] = GetParam();
  TrainConfig config = small_config();
  skew(config);
  config.clip_norm = 0;
  const TrainResult& one = one_rank(architecture, config, "adamw");
  const TrainResult many = run(model_of(architecture), plan, config);
  const std::int64_t left_out = expect_close_where_gradients_are(many, one);
  std::int64_t elements = 0;
  for (const auto& [tensor, values] : one.gradients) elements += std::ssize(values);
  EXPECT_LT(static_cast<double>(left_out), 0.01 * static_cast<double>(elements));
}

TEST_P(LayoutSuite, PeakMemoryIsPredictedToTheByte) {
  const auto& [name, plan, architecture] = GetParam();
  TrainConfig config = small_config(2);
  config.forced_routing = true;
  expect_peaks(model_of(architecture), plan, config, false);
  if (architecture == Architecture::dense) return;
  config = small_config(1);
  skew(config);
  expect_peaks(model_of(architecture), plan, config, true);
}

inline std::vector<SuiteLayout> layouts_where(bool quick) {
  std::vector<SuiteLayout> chosen;
  const std::vector<SuiteLayout> all = suite_layouts();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (in_quick_suite(i) == quick) chosen.push_back(all[i]);
  }
  return chosen;
}

}  // namespace pleat::test
