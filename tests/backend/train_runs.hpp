// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Short training runs on small models, and how their results are compared.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backend/trainer.hpp"
#include "core/program/program.hpp"
#include "tests/support/small_models.hpp"

namespace pleat::test {

inline Program small_program(const Plan& plan) {
  return compile(small_moe(), small_workload(), plan, Runtime::pleat);
}

inline TrainConfig small_config(int steps = 1) {
  TrainConfig config;
  config.steps = steps;
  config.keep_gradients = true;
  config.poison = true;
  config.stall_seconds = 60;
  std::uint32_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    state = state * 1664525 + 1013904223;
    config.text.push_back(static_cast<std::uint8_t>((state >> 24) % 64));
  }
  return config;
}

// Routers with sharp opinions, one favoured expert, one that nobody is sent to.
inline constexpr int kFavoured = 0, kEmpty = 5;
inline void skew(TrainConfig& config) {
  config.seed = 19;  // no decision is close: the tests assert the margin
  config.adjust_weight = [](const std::string& name, std::span<float> values) {
    if (name.ends_with("router")) {
      for (float& v : values) v *= 20;
    }
    if (name.ends_with("expert_bias")) {
      values[kFavoured] = 0.2F;
      values[kEmpty] = -100;
    }
  };
}

inline ModelSpec biased(ModelSpec model) {
  model.moe->expert_bias = true;
  return model;
}

inline TrainResult run(const ModelSpec& model, const Plan& plan, const TrainConfig& config,
                       const WorkloadSpec& workload = small_workload()) {
  TrainResult result = train(compile(model, workload, plan, Runtime::pleat), config);
  for (const std::string& name : result.unequal_copies) {
    ADD_FAILURE() << name << ": ranks hold different bits";
  }
  return result;
}

// ‖a - b‖ / ‖b‖; infinity when b is zero and a is not.
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0, reference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    reference += std::pow(static_cast<double>(b[i]), 2);
  }
  if (reference == 0) return difference == 0 ? 0 : INFINITY;
  return std::sqrt(difference / reference);
}

using Tensors = std::map<std::string, std::vector<float>>;

inline void expect_close(const Tensors& actual, const Tensors& reference, double tolerance) {
  ASSERT_EQ(actual.size(), reference.size());
  for (const auto& [name, values] : reference) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_LE(relative_difference(actual.at(name), values), tolerance) << name;
  }
}

inline void expect_same_bits(const Tensors& actual, const Tensors& reference) {
  ASSERT_EQ(actual.size(), reference.size());
  for (const auto& [name, values] : reference) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_EQ(actual.at(name), values) << name;
  }
}

}  // namespace pleat::test
