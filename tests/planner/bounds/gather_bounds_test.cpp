// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where the space has the all-gather between two ranks, bounds of Megatron's meshes look at it
// alone. On shipped models and clusters no other dispatcher's bound is lower.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "core/environment.hpp"
#include "core/spec/catalog.hpp"
#include "planner/search/node_bounds.hpp"

namespace pleat {
namespace {

constexpr double kRounded = 1 - 1e-9;

using Bounds = std::array<double, 5>;

// What a search asks about a mesh, with one of the settings with the least work.
Bounds bounds_of(BoundTable& table, const PlanTree& tree, Plan plan, const Setting& setting) {
  const StateChoices& state = tree.state_choices(plan);
  tree.put_least_work(setting, plan);
  const double grid = table.grid(plan).base();
  const PlanBounds mesh = table.mesh(plan, state, kAnyTime);
  const Seconds whole = table.whole_mesh(plan, state, kAnyTime);
  plan.recompute_full = true;
  const std::int64_t peak = table.least_peak(plan, state.shardings.back(), tree.least_saved);
  return {grid, mesh.step.base(), whole.base(), static_cast<double>(mesh.peak_bytes),
          static_cast<double>(peak)};
}

// Compares some meshes; returns how many.
int compare_with_gather(const Problem& problem, const SearchConfig& config) {
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            config.runtime);
  BoundTable table(estimator, problem, config.runtime);
  const PlanTree tree(problem, config);
  const auto gather = std::ranges::find_if(tree.least_work, &Setting::is_tried_gather);
  if (gather == tree.least_work.end()) return 0;
  std::mt19937_64 random(7);
  int compared = 0;
  for (int i = 0; i < 2000 && compared < 20; ++i) {
    const auto at = static_cast<std::int32_t>(random() % tree.space.meshes.size());
    const Mesh& mesh = tree.space.meshes[static_cast<std::size_t>(at)];
    if (mesh.expert.ep != 2 || mesh.expert.etp != 1) continue;
    const Plan plan = tree.mesh_plan({.bound = {}, .mesh = at});
    EXPECT_TRUE(tree.needs_least_work(*gather, mesh));
    const Bounds least = bounds_of(table, tree, plan, *gather);
    for (Setting other : tree.least_work) {
      if (other.is_tried_gather()) continue;
      EXPECT_FALSE(tree.needs_least_work(other, mesh));
      for (const Dispatcher d : {other.exchange.dispatcher, Dispatcher::alltoall}) {
        other.exchange.dispatcher = d;
        const Bounds bounds = bounds_of(table, tree, plan, other);
        for (std::size_t k = 0; k < least.size(); ++k) {
          EXPECT_GE(bounds[k], least[k] * kRounded)
              << "bound " << k << " of " << summary(plan) << " with " << name_of(d);
        }
      }
    }
    ++compared;
  }
  return compared;
}

TEST(GatherBounds, AreTheLeastOfAllDispatchers) {
  const auto models = config_names(ConfigKind::model);
  const auto clusters = config_names(ConfigKind::cluster);
  const bool all = environment_variable("PLEAT_EVERY_CASE").has_value();
  int requests = 0, meshes = 0;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const ModelSpec model = load_model(models[m]).model;
    if (!model.moe || model.moe->top_k < 3) continue;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      if (!all && c != (m * 7) % clusters.size()) continue;
      const ClusterSpec cluster = load_cluster(clusters[c]);
      const auto profile = find_usual_profile(clusters[c], Runtime::megatron);
      for (const Precision precision : {Precision::bf16, Precision::fp8_block}) {
        if (precision != Precision::bf16 && cluster.gpu.peak_fp8.base() <= 0) continue;
        SCOPED_TRACE(models[m] + " on " + clusters[c]);
        const Problem problem{
            .model = model,
            .cluster = cluster,
            .workload = {.seq_len = 4096, .global_batch = 1024},
            .profile = profile ? profile->profile : datasheet_profile(cluster, Runtime::megatron)};
        SearchConfig config;
        config.gpus = 64;
        config.numerics.front().precision = precision;
        meshes += compare_with_gather(problem, config);
        ++requests;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(requests, 20);
  EXPECT_GT(meshes, 10 * requests);
}

}  // namespace
}  // namespace pleat
