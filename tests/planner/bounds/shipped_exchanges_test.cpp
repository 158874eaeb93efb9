// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The bound of all ways in which the plans of a mesh exchange is worked out once for all meshes
// that have the same layers. On shipped models and clusters, whose groups cross tiers in many ways,
// it is no higher than that of any way on its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "core/spec/catalog.hpp"
#include "planner/search/node_bounds.hpp"

namespace pleat {
namespace {

struct Compared {
  int meshes = 0, equal = 0;
};

Compared compare(const Problem& problem, const SearchConfig& config) {
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            config.runtime);
  BoundTable bounds(estimator, problem, config.runtime);
  const PlanTree tree(problem, config);
  NodeBounds of(tree, bounds, std::numeric_limits<std::int64_t>::max());
  std::mt19937_64 random(5);
  Compared compared;
  for (int i = 0; i < 300; ++i) {
    const Node mesh{.bound = {},
                    .mesh = static_cast<std::int32_t>(random() % tree.space.meshes.size())};
    const Plan plan = tree.mesh_plan(mesh);
    Seconds least = kAnyTime;
    for (std::size_t e = 0; e < tree.exchanges.size(); ++e) {
      if (tree.left_out(plan, mesh, e) != nullptr) continue;
      Node one = mesh;
      one.setting = tree.exchanges[e].families.front();
      one.memory = 0;
      least = std::min(least, of.exchange(one, kAnyTime));
    }
    if (least == kAnyTime) continue;
    const Seconds together = of.exchanges(mesh, kAnyTime);
    EXPECT_LE(together, least * (1 + 1e-9)) << summary(plan);
    compared.equal += together > least * (1 - 1e-9) ? 1 : 0;
    ++compared.meshes;
  }
  return compared;
}

TEST(ShippedExchanges, TogetherTakeNoLongerThanEach) {
  struct Asked {
    const char *model, *cluster;
    int gpus;
    Runtime runtime;
  };
  for (const Asked& a : {Asked{"mixtral-8x22b", "h100-sxm", 64, Runtime::megatron},
                         Asked{"deepseek-v3", "gb200-nvl72", 1024, Runtime::megatron},
                         Asked{"qwen3-next-80b-a3b", "a100-sxm", 512, Runtime::pleat},
                         Asked{"llama3.1-405b", "h100-sxm", 16384, Runtime::megatron}}) {
    SCOPED_TRACE(a.model);
    const Problem problem{.model = load_model(a.model).model,
                          .cluster = load_cluster(a.cluster),
                          .workload = {.seq_len = 4096, .global_batch = 16LL * a.gpus},
                          .profile = load_profile(std::string(a.cluster) + "-megatron")};
    SearchConfig config;
    config.gpus = a.gpus;
    config.runtime = a.runtime;
    const Compared compared = compare(problem, config);
    EXPECT_GT(compared.meshes, 200);
    EXPECT_GT(compared.equal, compared.meshes / 4);
  }
}

}  // namespace
}  // namespace pleat
