// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Threads share a memo of layers: what they read is the same, whoever else asks or forgets.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "core/spec/catalog.hpp"
#include "simulator/layer_library.hpp"

namespace pleat {
namespace {

constexpr int kClocks = 6;

TEST(LayerMemo, ThreadsReadTheSameWhileOneForgets) {
  const ModelSpec model = load_model("deepseek-v3").model;
  const ClusterSpec cluster = load_cluster("h100-sxm");
  const Profile profile = load_profile("h100-sxm-megatron");
  const WorkloadSpec workload{.seq_len = 4096, .global_batch = 64};
  Plan plan;
  plan.attention = {.tp = 2, .cp = 1, .dp = 4, .pp = 1};
  plan.expert = {.etp = 1, .ep = 4, .edp = 2};
  plan.sequence_parallel = true;
  const auto variants = compose_stages(model, workload, plan).front().variants;
  const auto memo = [&] {
    return std::make_unique<LayerMemo>(model, workload, plan, view_cluster(cluster, plan),
                                       Runtime::megatron);
  };
  const auto asked = [&](LayerMemo& of, std::size_t layer, int clock) {
    const LayerCosts& costs = of.costs(variants[layer], clock, profile);
    const LayerWork& work = of.work(variants[layer], clock, profile, true);
    const std::size_t priced = of.ops(variants[layer], clock, profile)->forward.costs.size();
    const std::size_t ops = of.program(variants[layer], false)->forward.size();
    return std::vector<double>{costs.flops.base(), work.compute[0].base(), work.compute[1].base(),
                               static_cast<double>(priced), static_cast<double>(ops)};
  };
  std::vector<std::vector<double>> expected;
  for (std::size_t i = 0; i < variants.size(); ++i) expected.push_back(asked(*memo(), i, 0));

  const auto shared = memo();
  std::atomic<bool> done{false};
  std::atomic<int> forgotten{0}, wrong{0};
  std::vector<std::jthread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&, t] {
      for (int n = 0; n < 400 || forgotten < 50; ++n) {
        const std::size_t layer = static_cast<std::size_t>(n * 7 + t) % variants.size();
        wrong += asked(*shared, layer, (n + t) % kClocks) != expected[layer] ? 1 : 0;
      }
    });
  }
  std::jthread forgets([&] {
    for (bool all = false; !done; all = !all, ++forgotten) shared->forget(all);
  });
  readers.clear();  // joins them
  done = true;
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pleat
