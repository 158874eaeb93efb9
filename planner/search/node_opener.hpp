// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Opens nodes of the search tree: computes bounds, prices plans, and makes the nodes below. A grid
// opens into its meshes, a mesh into ways to exchange, one of these into families of settings, a
// family into its settings. A setting that does not fit in memory opens into memory choices.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/spec/cluster.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/search_result.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

struct Rejection {
  const char* rule;
  std::int64_t plans;
};

// What came of one node: all its plans are in its children, rejected, or the one that was priced.
struct Opened {
  std::vector<Node> children;
  std::vector<Rejection> rejected;
  std::optional<StepEstimate> estimate;  // of the node's own plan
  std::vector<StageOverride> stages;     // of that plan
  bool cut = false;  // the node's plan may not be the best of those it stands for
  bool fits = false;
  std::int64_t least_peak = 0;  // bytes; what a plan that does not fit needs at least
  // Of a grid: meshes whose state alone does not fit, and its bytes.
  std::vector<std::pair<std::int32_t, std::int64_t>> too_large;
};

inline constexpr std::int64_t kNoPeak = std::numeric_limits<std::int64_t>::max();

class NodeOpener {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  NodeOpener(const PlanTree&, PlanPrices&, const ClusterSpec&, std::int64_t usable);

  // Of all plans of a mesh: time, and state alone.
  [[nodiscard]] PlanBounds mesh_bounds(std::int32_t mesh);
  // Of all plans of a grid.
  [[nodiscard]] Seconds grid_bound(const Node& grid);
  // BoundTable::family.
  [[nodiscard]] PlanBounds family_bounds(const Plan& plan) {
    return bounds_.family(plan, Seconds(std::numeric_limits<double>::infinity()));
  }
  // May be called from several threads. Plans that take longer than `cutoff` are of no interest.
  [[nodiscard]] Opened open(const Node&, Seconds cutoff);
  // Roughly the memory of the mesh's smallest plan, in bytes: tries every sharding and every place
  // of the optimizer's state, each with no memory saved otherwise and with as much as possible.
  // kNoPeak: no plan of the mesh is valid.
  [[nodiscard]] std::int64_t least_memory_bound(std::int32_t mesh);
  // The mesh's plan that needs the least memory. Only the plans with the smallest memory bounds are
  // priced, some for each place of the optimizer's state, because the bounds of different places do
  // not compare well. Nothing if no plan is valid.
  [[nodiscard]] std::optional<Candidate> least_memory_plan(std::int32_t mesh);

 private:
  Opened open_once(const Node&, Seconds cutoff);
  Opened open_grid(const Node&);
  Opened open_mesh(const Node&);
  Opened refine_exchange(const Node&, Seconds cutoff);
  Opened open_exchange(const Node&);
  Opened refine_family(const Node&, Seconds cutoff);
  Opened open_family(const Node&);
  Opened refine_setting(const Node&, Seconds cutoff);
  Opened price(const Node&);
  Opened price_by_stage(const Node&);

  // The plan with ZeRO-1 at most and the CUDA graphs that launch least: the exchanges of more
  // sharding and more launches only add time, so its bound holds for the given plan too. Many
  // families have the same one.
  [[nodiscard]] Plan reference_of(Plan) const;
  // The first setting of each family that is valid on the mesh and does not repeat another.
  [[nodiscard]] std::vector<std::int16_t> first_settings(std::int32_t mesh) const;
  // A lower bound on the bytes of the family's plans. Any value that fits where it does not matter.
  [[nodiscard]] std::int64_t least_of_family(const Node&);
  [[nodiscard]] std::int64_t least_of_stages(const Node&);
  [[nodiscard]] Opened no_memory(const Node&, std::int64_t least) const;
  // What gives up more cannot be faster.
  void does_not_fit(const Node&, std::int64_t peak, Opened&);
  // Those of the choices below the node's that fit, going by bounds; below the others again those
  // that fit.
  void open_below(const Node&, Opened&);
  std::shared_ptr<const std::vector<PlanBounds>> bounds_by_choice(Node);
  // Of the family with the node's memory choice.
  [[nodiscard]] PlanBounds family_with_choice(Node);
  void open_fitting(const Node&, const std::vector<PlanBounds>& by_choice, Opened&) const;
  // The choice that saves nothing does not fit: a bound of those that do; nothing fits: infinite.
  [[nodiscard]] Seconds least_that_fits(const Node& family);
  template <class Visit>  // plans of the mesh with the least work (PlanTree::least_work)
  void for_each_least_work(const Node&, const Visit&) const;
  template <class Visit>  // the valid settings of a family, without memory choice
  void for_each_setting(const Node& family, const Visit&) const;

  const PlanTree& tree_;
  Estimator& estimator_;
  BoundTable& bounds_;
  std::int64_t usable_;
  std::int64_t host_;  // bytes of a node; 0: unknown
  int gpus_per_node_;
  // BoundTable::family, by mesh, family and memory choice.
  Recent<NumberKey<3>, PlanBounds, KeyHash> with_choice_{400'000};  // 50 MB
  // BoundTable::by_choice, by mesh and setting.
  Recent<NumberKey<2>, std::vector<PlanBounds>, KeyHash> by_choice_{2'000'000};  // bounds: 32 MB
};

}  // namespace pleat
