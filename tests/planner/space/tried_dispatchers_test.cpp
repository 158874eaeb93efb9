// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which ways of exchanging tokens a search tries, and on which meshes.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "planner/space/run_settings.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

using namespace test;

auto first_with(Dispatcher dispatcher, const std::vector<Setting>& all) {
  return std::ranges::find_if(
      all, [&](const Setting& s) { return s.exchange.dispatcher == dispatcher; });
}

TEST(TriedDispatchers, SmsAreThoseOfFusedExchangesWithinADomain) {
  ClusterSpec cluster = small_cluster();
  cluster.gpu.peak_fp8 = FlopsPerSecond(2e13);
  SearchConfig config = small_search(8);
  config.pin<"dispatcher-sms">() = {0, 8};
  std::set<std::pair<Dispatcher, int>> found;
  const auto all = settings(small_model(), cluster, config);
  for (const Setting& s : all) found.insert({s.exchange.dispatcher, s.exchange.sms});
  EXPECT_EQ(found,
            (std::set<std::pair<Dispatcher, int>>{
                {Dispatcher::alltoall, 0}, {Dispatcher::deepep, 0}, {Dispatcher::deepep, 8}}));
  const auto eight = std::ranges::find_if(
      all, [](const Setting& s) { return s.exchange.sms == 8; });
  Mesh mesh;
  mesh.expert = {.etp = 1, .ep = 2, .edp = 4};
  mesh.attention.dp = 8;
  EXPECT_FALSE(eight->exchanges_too_far_on(mesh));
  mesh.expert = {.etp = 1, .ep = 4, .edp = 2};  // beyond the domain of two
  EXPECT_TRUE(eight->exchanges_too_far_on(mesh));
  EXPECT_FALSE(all.front().exchanges_too_far_on(mesh));
}

TEST(TriedDispatchers, BesideAFusedExchangeTheAllGatherIsBetweenTwoRanksButWhereItIsPinned) {
  SearchConfig config = small_search(8);
  ModelSpec model = small_model();
  model.moe->top_k = 3;
  ClusterSpec cluster = small_cluster();
  cluster.gpu.peak_fp8 = FlopsPerSecond(2e13);  // has DeepEP
  const auto gather = [&] {
    const auto all = settings(model, cluster, config);
    const auto found = first_with(Dispatcher::allgather, all);
    EXPECT_NE(found, all.end());
    return *found;
  };
  Mesh mesh;
  mesh.attention.dp = 8;
  mesh.expert = {.etp = 1, .ep = 2, .edp = 4};
  EXPECT_EQ(gather().void_on(mesh), nullptr);
  mesh.expert = {.etp = 1, .ep = 4, .edp = 2};
  EXPECT_STREQ(gather().void_on(mesh), "allgather-ranks");
  mesh.expert = {.etp = 2, .ep = 2, .edp = 2};
  EXPECT_STREQ(gather().void_on(mesh), "allgather-ranks");
  config.pin<"dispatcher">() = {Dispatcher::allgather};
  EXPECT_EQ(gather().void_on(mesh), nullptr);
  config.pin<"dispatcher">().values.clear();
  mesh.expert = {.etp = 1, .ep = 4, .edp = 2};
  cluster.gpu.peak_fp8 = {};  // has none: the all-to-all sends a row for each expert
  EXPECT_EQ(gather().void_on(mesh), nullptr);
  const auto tries = [&] {
    const auto all = settings(model, cluster, config);
    return first_with(Dispatcher::allgather, all) != all.end();
  };
  EXPECT_TRUE(tries());
  config.numerics.front().fp8_dispatch = true;
  EXPECT_FALSE(tries());
  config.numerics.front().fp8_dispatch = false;
  model.moe->top_k = 2;  // the gather sorts no less than an exchange
  EXPECT_FALSE(tries());
}

TEST(TriedDispatchers, PleatExchangesInTwoStepsBetweenNetworkDomains) {
  SearchConfig config = small_search(8);
  config.runtime = Runtime::pleat;
  const auto two_steps = [&]() -> std::optional<Setting> {
    const auto all = settings(small_model(), small_cluster(), config);
    const auto found = first_with(Dispatcher::hierarchical, all);
    return found == all.end() ? std::nullopt : std::optional(*found);
  };
  ASSERT_EQ(small_cluster().tiers.front().size, 2);
  Mesh mesh;
  mesh.attention.dp = 8;
  mesh.expert = {.etp = 1, .ep = 4, .edp = 2};
  ASSERT_TRUE(two_steps());
  EXPECT_EQ(two_steps()->void_on(mesh), nullptr);
  mesh.expert = {.etp = 1, .ep = 2, .edp = 4};  // within a domain it is the all-to-all
  EXPECT_STREQ(two_steps()->void_on(mesh), "no-effect");
  config.pin<"dispatcher">() = {Dispatcher::hierarchical};
  EXPECT_EQ(two_steps()->void_on(mesh), nullptr);
  config.pin<"dispatcher">().values.clear();
  config.gpus = 2;
  EXPECT_FALSE(two_steps());
  config.gpus = 8;
  config.runtime = Runtime::megatron;
  EXPECT_FALSE(two_steps());
}

TEST(TriedDispatchers, DispatcherFollowsTheHardware) {
  ClusterSpec c = small_cluster();
  EXPECT_EQ(dispatcher_for(small_model(), c),
            Dispatcher::alltoall);  // no fp8: before Hopper
  c.gpu.peak_fp8 = FlopsPerSecond(1e15);
  EXPECT_EQ(dispatcher_for(small_model(), c), Dispatcher::deepep);
  c.tiers.front().size = 72;
  EXPECT_EQ(dispatcher_for(small_model(), c), Dispatcher::hybridep);
  ModelSpec dense = small_model();
  dense.moe.reset();
  EXPECT_EQ(dispatcher_for(dense, c), Dispatcher::alltoall);
}

}  // namespace
}  // namespace pleat
