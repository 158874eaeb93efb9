// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The busiest rank of an expert-parallel group, worked out by hand; loads of experts as JSON.
#include "core/spec/expert_load.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/spec/expert_load_json.hpp"

namespace pleat {
namespace {

using ::testing::HasSubstr;

const std::vector<double> kLoads{5, 1, 1, 1, 2, 2, 0, 4};  // 16 in all, 2 each on the mean

TEST(ExpertLoad, BusiestOfTheRunsOfExperts) {
  EXPECT_EQ(busiest_rank(kLoads, 1), 1);
  EXPECT_EQ(busiest_rank(kLoads, 2), 1);    // 8 and 8
  EXPECT_EQ(busiest_rank(kLoads, 4), 1.5);  // 6, 2, 4, 4 with a mean of 4
  EXPECT_EQ(busiest_rank(kLoads, 8), 2.5);
  EXPECT_EQ(busiest_rank(kLoads, 8, 1.5), 1.5);  // an expert takes 3 at most
  EXPECT_EQ(busiest_rank(kLoads, 4, 1.5), 1);    // 4, 2, 4, 3 are left
}

TEST(ExpertLoad, OrderWithinARankDoesNotMatter) {
  const std::vector<double> turned{1, 5, 1, 1, 2, 2, 4, 0};
  for (const int ranks : {1, 2, 4})
    EXPECT_EQ(busiest_rank(turned, ranks), busiest_rank(kLoads, ranks));
}

TEST(ExpertLoad, EqualLoadsAreBalancedExactly) {
  for (const double load : {1.0, 0.1, 1.0 / 3, 812.7}) {
    for (const int ranks : {1, 2, 8, 64}) {
      EXPECT_EQ(busiest_rank(std::vector<double>(64, load), ranks), 1) << load;
    }
  }
}

// 2 values: 1 / sqrt(pi); 3 values: 1.5 / sqrt(pi). Others: Harter, Biometrika 48 (1961), table 1.
TEST(ExpertLoad, LargestOfNormalValues) {
  EXPECT_EQ(expected_largest(1), 0);
  EXPECT_NEAR(expected_largest(2), 1 / std::sqrt(std::numbers::pi), 1e-9);
  EXPECT_NEAR(expected_largest(3), 1.5 / std::sqrt(std::numbers::pi), 1e-9);
  EXPECT_NEAR(expected_largest(8), 1.42360, 5e-6);
  EXPECT_NEAR(expected_largest(64), 2.34373, 5e-5);
}

// Against what is drawn: loads of 64 experts, summed over the ranks' runs.
TEST(ExpertLoad, SpreadIsTheMeanOfWhatIsDrawn) {
  const MoeSpec moe{.experts = 64, .top_k = 6};
  std::mt19937 random(3);
  constexpr double kSpread = 0.2;
  std::normal_distribution<double> load(1, kSpread);
  for (const int ranks : {2, 8, 64}) {
    double sum = 0;
    constexpr int kDraws = 4000;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<double> loads;
      for (int e = 0; e < 64; ++e) loads.push_back(load(random));
      sum += busiest_rank(loads, ranks);
    }
    EXPECT_NEAR(busiest_rank(kSpread, moe, ranks) - 1, sum / kDraws - 1, 0.01) << ranks;
  }
  EXPECT_EQ(busiest_rank(kSpread, moe, 1), 1);
  EXPECT_DOUBLE_EQ(busiest_rank(kSpread, moe, 8),
                   1 + kSpread * std::sqrt(8.0 / 64) * expected_largest(8));
  // No rank of 64 has more than one copy of each token: 64 / 6 of the mean.
  EXPECT_DOUBLE_EQ(busiest_rank(100, moe, 64), 64.0 / 6);
}

WorkloadSpec natural() {
  WorkloadSpec w;
  w.routing = Routing::natural;
  return w;
}

TEST(ExpertLoad, ImbalanceOfRanksAndCapacity) {
  const MoeSpec moe{.experts = 8, .top_k = 2};
  WorkloadSpec w = natural();
  EXPECT_EQ(rank_imbalance(w, moe, -1, 4), 1);
  w.imbalance = 1.3;
  EXPECT_EQ(rank_imbalance(w, moe, -1, 4), 1.3);
  EXPECT_EQ(rank_imbalance(w, moe, -1, 1), 1);
  w.capacity_factor = 1.2;
  EXPECT_EQ(rank_imbalance(w, moe, -1, 4), 1.2);
  w.routing = Routing::forced;
  EXPECT_EQ(rank_imbalance(w, moe, -1, 4), 1);
  w.pad_to_capacity = true;
  EXPECT_EQ(rank_imbalance(w, moe, -1, 4), 1.2);

  w = natural();
  w.expert_loads = {{0, kLoads}};
  EXPECT_EQ(rank_imbalance(w, moe, 0, 4), 1.5);
  w.imbalance = 0.5;  // on top, and no rank has less than the mean
  EXPECT_EQ(rank_imbalance(w, moe, 0, 4), 1);
  w.imbalance = 1.2;
  EXPECT_DOUBLE_EQ(rank_imbalance(w, moe, 0, 4), 1.8);
}

ModelSpec small() {
  ModelSpec m;
  m.layers = 3;
  m.mtp_layers = 1;
  m.moe = MoeSpec{.experts = 2, .top_k = 1};
  m.moe_layer = {false, true, true};
  return m;
}

TEST(ExpertLoad, LayersWithEqualLoadsHaveOneIndex) {
  WorkloadSpec w = natural();
  w.expert_loads = {{1, {1, 2}}, {2, {1, 2}}};
  EXPECT_EQ(loads_of_layer(w, small(), 1), 0);
  EXPECT_EQ(loads_of_layer(w, small(), 2), 0);
  EXPECT_EQ(loads_of_layer(w, small(), 4), 0);  // the prediction depth: as the last layer
  w.expert_loads[1].of = {2, 1};
  w.expert_loads.push_back({4, {7, 1}});
  EXPECT_EQ(loads_of_layer(w, small(), 2), 1);
  EXPECT_EQ(loads_of_layer(w, small(), 4), 2);
  w.routing = Routing::forced;
  EXPECT_EQ(loads_of_layer(w, small(), 1), -1);
}

TEST(ExpertLoad, NaturalSpreadIsThatOfTheRouter) {
  EXPECT_EQ(natural_spread({.expert_bias = true, .seq_aux_loss = 1e-4}), kAuxLossFreeSpread);
  EXPECT_EQ(natural_spread({.aux_loss = 0.01}), kAuxLossSpread);
  EXPECT_EQ(natural_spread({}), kUntrainedSpread);
}

std::string load_problems(const std::string& text, ModelSpec model = small()) {
  const JsonValue json = parse_json(text, "loads.json");
  Diagnostics problems;
  const std::string file = "loads.json";
  static_cast<void>(read_expert_loads(ObjectReader(json, "expert_loads", {file, problems}), model));
  try {
    problems.throw_if_errors();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(ExpertLoad, JsonIsReadAsItWasWritten) {
  const std::vector<ExpertLoads> loads{{1, {812, 0.25}}, {2, {0, 3}}, {4, {1e12, 1}}};
  const JsonValue json = write_expert_loads(loads);
  EXPECT_EQ(json.dump(0), R"({"1":[812,0.25],"2":[0,3],"4":[1000000000000,1]})");
  Diagnostics problems;
  const std::string file = "f";
  EXPECT_EQ(read_expert_loads(ObjectReader(json, "", {file, problems}), small()), loads);
  EXPECT_EQ(load_problems(json.dump(0)), "");
}

TEST(ExpertLoad, JsonThatIsWrongIsRefusedWithItsPath) {
  const auto refused = [](const std::string& text, const std::string& path, const char* message) {
    const std::string said = load_problems(text);
    EXPECT_THAT(said, HasSubstr(path)) << text;
    EXPECT_THAT(said, HasSubstr(message)) << text;
  };
  refused(R"({"1": [1, 2, 3], "2": [1, 2]})", "expert_loads.1",
          "has 3 loads, the model has 2 experts");
  refused(R"({"1": [1, -2], "2": [1, 2]})", "expert_loads.1", "the load of expert 1 is -2");
  refused(R"({"1": [1, null], "2": [1, 2]})", "expert_loads.1", "the load of expert 1 is null");
  refused(R"({"1": [1, "x"], "2": [1, 2]})", "expert_loads.1", "the load of expert 1 is");
  refused(R"({"1": [0, 0], "2": [1, 2]})", "expert_loads.1", "all loads are 0");
  refused(R"({"1": 7, "2": [1, 2]})", "expert_loads.1", "must be an array");
  refused(R"({"0": [1, 2], "1": [1, 2], "2": [1, 2]})", "expert_loads.0",
          "is no layer with experts");
  refused(R"({"3": [1, 2], "1": [1, 2], "2": [1, 2]})", "expert_loads.3",
          "is no layer with experts");
  refused(R"({"01": [1, 2], "2": [1, 2]})", "expert_loads.01", "is no layer with experts");
  refused(R"({"1": [1, 2]})", "expert_loads", "layer 2 has experts and no loads");
  refused(R"([1])", "expert_loads", "must be an object");
  ModelSpec dense = small();
  dense.moe.reset();
  EXPECT_THAT(load_problems(R"({"1": [1, 2]})", dense), HasSubstr("the model has no experts"));
}

}  // namespace
}  // namespace pleat
