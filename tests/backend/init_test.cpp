// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Initial weights depend on the seed and the global name, not on the layout.
#include "backend/init.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

std::vector<float> normal(const std::string& name, std::uint64_t seed, std::size_t n) {
  std::vector<float> values(n);
  fill_normal(name, seed, 0, values);
  return values;
}

TEST(Init, IsNormalWithTheStandardDeviation) {
  const auto values = normal("layers.3.qkv", 1234, 200'000);
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (float v : values) {
    sum += v;
    squares += double{v} * v;
    beyond_two += std::fabs(v) > 2 * kInitStd;
  }
  const double n = 200'000;
  EXPECT_NEAR(sum / n, 0, 5 * kInitStd / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n), kInitStd, 0.01 * kInitStd);
  EXPECT_NEAR(beyond_two / n, 0.0455, 0.003);
}

TEST(Init, DependsOnNameSeedAndIndexAlone) {
  const auto values = normal("head", 1, 100);
  EXPECT_EQ(normal("head", 1, 100), values);
  EXPECT_EQ(normal("head", 1, 60), std::vector<float>(values.begin(), values.begin() + 60));
  EXPECT_NE(normal("head", 2, 100), values);
  EXPECT_NE(normal("tail", 1, 100), values);
}

TEST(Init, ThreadsChangeNoBit) {
  std::vector<float> one(400'001);
  fill_normal("head", 1, 17, one, 1);
  for (const std::size_t threads : {2, 3, 5, 64}) {
    std::vector<float> many(one.size(), -1);
    fill_normal("head", 1, 17, many, threads);
    EXPECT_EQ(many, one) << threads;
  }
}

TEST(Init, NormScalesAreOnesBiasesZeros) {
  ModelSpec model = test::small_moe();
  model.moe->expert_bias = true;
  const Program program = compile(model, test::small_workload(), test::fp32_plan(), Runtime::pleat);
  std::map<std::string, InitialValue> values;
  for (const LayerInstance& instance : program.stages[0].chunks[0].instances) {
    const LayerProgram& layer = program.stages[0].program(instance);
    for (const Weight& w : layer.weights) {
      for (const NamedPart& p : named_parts(layer, instance, w, {})) {
        EXPECT_TRUE(values.emplace(p.name, initial_value(layer, w)).second) << p.name;
      }
    }
  }
  EXPECT_EQ(values.at("embedding"), InitialValue::normal);
  EXPECT_EQ(values.at("final_norm"), InitialValue::ones);
  EXPECT_EQ(values.at("layers.0.attn_norm"), InitialValue::ones);
  EXPECT_EQ(values.at("layers.0.fc1"), InitialValue::normal);
  EXPECT_EQ(values.at("layers.3.expert_bias"), InitialValue::zeros);
  EXPECT_EQ(values.at("layers.3.experts.7.fc2"), InitialValue::normal);
  EXPECT_EQ(values.at("layers.2.shared.fc1"), InitialValue::normal);
}

TEST(Init, LocalExpertsHaveGlobalNames) {
  const Program program =
      compile(test::small_moe(), test::small_workload(), test::fp32_plan(4, 4), Runtime::pleat);
  std::set<std::string> names;
  for (int ep = 0; ep < 4; ++ep) {
    for (const LayerInstance& instance : program.stages[0].chunks[0].instances) {
      const LayerProgram& layer = program.stages[0].program(instance);
      for (const Weight& w : layer.weights) {
        if (w.bucket != Bucket::expert) continue;
        const auto parts = named_parts(layer, instance, w, {.ep = ep});
        ASSERT_EQ(parts.size(), 2U);
        EXPECT_EQ(parts[1].offset, parts[0].elements);
        EXPECT_EQ(parts[0].elements + parts[1].elements, w.elements);
        for (const NamedPart& p : parts) EXPECT_TRUE(names.insert(p.name).second) << p.name;
      }
    }
  }
  EXPECT_EQ(names.size(), 3U * 8U * 2U);
  EXPECT_TRUE(names.contains("layers.1.experts.7.fc1"));
}

// Every layout cuts its parts from the same whole weights.
TEST(Init, PartsCoverTheWholeWeightOnce) {
  Plan plan = test::tp_plan(4);
  plan.expert = {.etp = 2, .ep = 2, .edp = 1};
  ModelSpec model = test::small_moe();
  model.vocab = 61;  // 16 rows a rank, the last one has three of padding
  const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
  std::map<std::string, std::vector<int>> covered;
  for (int r = 0; r < 4; ++r) {
    for (const LayerInstance& instance : program.stages[0].chunks[0].instances) {
      const LayerProgram& layer = program.stages[0].program(instance);
      for (const Weight& w : layer.weights) {
        for (const NamedPart& p : named_parts(layer, instance, w, weight_rank(plan, Rank{r}))) {
          std::vector<int>& whole = covered[p.name];
          whole.resize(static_cast<std::size_t>(p.whole));
          for (const WeightRun& run : p.runs) {
            EXPECT_LE(run.local + run.elements, p.elements) << p.name;
            for (std::int64_t i = 0; i < run.elements; ++i) {
              ++whole.at(static_cast<std::size_t>(run.whole + i));
            }
          }
        }
      }
    }
  }
  const auto times = [&](const std::string& name, std::size_t i) { return covered.at(name).at(i); };
  for (const auto& [name, whole] : covered) {
    EXPECT_EQ(std::count(whole.begin(), whole.end(), 0), 0) << name;
  }
  EXPECT_EQ(covered.at("head").size(), 61U * 32U);
  EXPECT_EQ(covered.at("layers.0.qkv").size(), (4U + 2U + 2U) * 8U * 32U);
  EXPECT_EQ(times("head", 0), 1);
  EXPECT_EQ(times("layers.0.attn_norm", 0), 4);
  EXPECT_EQ(times("layers.0.qkv", 0), 1);                       // a query's
  EXPECT_EQ(times("layers.0.qkv", std::size_t{4} * 8 * 32), 2);  // a key's, two groups over four
  EXPECT_EQ(times("layers.1.experts.7.fc2", 0), 1);
  EXPECT_EQ(covered.at("layers.1.experts.7.fc1").size(), 2U * 24U * 32U);
}

TEST(Init, APartOfAWholeTensorHasItsElements) {
  const std::vector<float> whole = normal("head", 1, 100);
  std::vector<float> part(30);
  fill_normal("head", 1, 50, part);
  EXPECT_EQ(part, std::vector<float>(whole.begin() + 50, whole.begin() + 80));
}

}  // namespace
}  // namespace pleat
