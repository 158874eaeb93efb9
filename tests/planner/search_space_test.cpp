// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is enumerated, how rejections are counted, and what an empty space says.
#include "planner/search_space.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/planner/small_case.hpp"

namespace pleat {
namespace {

using namespace test;

TEST(SearchSpace, EveryPlanIsValidAndDistinct) {
  const ModelSpec model = small_model();
  const SearchSpace space =
      enumerate_plans(model, small_cluster(), small_workload(), small_config(8));
  std::set<std::string> seen;
  std::int64_t rejected = 0;
  for (const auto& [rule, count] : space.rejected) rejected += count;
  EXPECT_EQ(space.enumerated, rejected + static_cast<std::int64_t>(space.plans.size()));
  for (std::size_t i = 0; i < space.plans.size(); ++i) {
    const Plan& p = space.plans[i];
    EXPECT_TRUE(violations({model, small_workload(), p, 8}).empty()) << summary(p);
    EXPECT_LE(p.attention.tp, 2);  // the innermost domain
    for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(p == space.plans[j]) << summary(p);
    if (i > 400) break;  // quadratic
  }
}

TEST(SearchSpace, OneGpuWithoutRecomputeIsTheMicrobatches) {
  SearchConfig config = small_config(1);
  config.recompute = false;
  const SearchSpace space =
      enumerate_plans(small_model(), small_cluster(), small_workload(), config);
  ASSERT_EQ(space.plans.size(), 4u);
  EXPECT_EQ(space.plans[0].micro_batch, 1);
  EXPECT_EQ(space.plans[3].micro_batch, 8);
  EXPECT_EQ(space.plans[0].sharding, Sharding::none);
}

TEST(SearchSpace, DispatcherFollowsTheHardware) {
  ClusterSpec c = small_cluster();
  EXPECT_EQ(dispatcher_for(small_model(), c, Runtime::megatron),
            Dispatcher::alltoall);  // no fp8: before Hopper
  c.gpu.peak_fp8 = FlopsPerSecond(1e15);
  EXPECT_EQ(dispatcher_for(small_model(), c, Runtime::megatron), Dispatcher::deepep);
  c.tiers.front().size = 72;
  EXPECT_EQ(dispatcher_for(small_model(), c, Runtime::megatron), Dispatcher::hybridep);
  EXPECT_EQ(dispatcher_for(small_model(), c, Runtime::pleat), Dispatcher::alltoall);
  ModelSpec dense = small_model();
  dense.moe.reset();
  EXPECT_EQ(dispatcher_for(dense, c, Runtime::megatron), Dispatcher::alltoall);
}

TEST(SearchSpace, RecomputeSetsFitTheModel) {
  ModelSpec model = small_model();
  EXPECT_EQ(recompute_choices(model, true).size(), 5u);
  EXPECT_EQ(recompute_choices(model, false).size(), 1u);
  model.attention.kind = AttentionKind::mla;
  EXPECT_EQ(recompute_choices(model, true).size(), 6u);
  model.attention.kind = AttentionKind::gqa;
  model.moe.reset();
  EXPECT_EQ(recompute_choices(model, true).size(), 4u);
}

std::string error_of(const SearchConfig& config) {
  try {
    static_cast<void>(non_empty_space(small_model(), small_cluster(), small_workload(), config));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    return e.what();
  }
  return "no error";
}

TEST(SearchSpace, NamesThePinThatEmptiesIt) {
  SearchConfig config = small_config(4);
  config.ep = {3};
  config.pp = {1};
  const std::string text = error_of(config);
  EXPECT_NE(text.find("--ep: "), std::string::npos) << text;
  EXPECT_NE(text.find("ep 3 leaves no valid plan"), std::string::npos) << text;
  EXPECT_EQ(text.find("--pp"), std::string::npos) << text;
}

TEST(SearchSpace, NamesAllPinsThatEmptyItTogether) {
  SearchConfig config = small_config(4);
  config.ep = {3};
  config.tp = {3};
  EXPECT_NE(error_of(config).find("the pins tp 3, ep 3 together leave no valid plan"),
            std::string::npos)
      << error_of(config);
}

TEST(SearchSpace, WithoutPinsTheRuleSpeaks) {
  WorkloadSpec odd = small_workload();
  odd.seq_len = 127;
  odd.global_batch = 1;
  SearchConfig config = small_config(3);  // 3 GPUs: neither heads, experts, layers nor batch split
  config.recompute = false;
  ModelSpec model = small_model();
  model.layers = 2;
  model.moe_layer = {true, true};
  try {
    static_cast<void>(non_empty_space(model, small_cluster(), odd, config));
    FAIL() << "three GPUs should not work";
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    EXPECT_NE(std::string(e.what()).find("no valid plan on 3 GPUs"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace pleat
