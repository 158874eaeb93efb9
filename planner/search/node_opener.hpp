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

// A plan that was priced, by its node, which has one mesh.
struct Priced {
  Node node;
  StepEstimate estimate;
  bool fits = false;
  std::vector<StageOverride> stages = {};
};

// What came of one node: all its plans are in its children, rejected, or priced.
struct Opened {
  std::vector<Node> children;
  std::vector<Rejection> rejected;
  std::vector<Priced> priced;
  bool cut = false;  // a priced plan may not be the best of those it stands for
  std::int64_t least_peak = 0;  // bytes; what a plan that does not fit needs at least
  // Of a grid: meshes whose state alone does not fit, and its bytes.
  std::vector<std::pair<std::int32_t, std::int64_t>> too_large;
};

inline constexpr Seconds kAnyTime{std::numeric_limits<double>::infinity()};
inline constexpr std::int64_t kNoPeak = std::numeric_limits<std::int64_t>::max();

class NodeOpener {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  NodeOpener(const PlanTree&, PlanPrices&, const ClusterSpec&, std::int64_t usable);

  // Of all plans of a mesh: time, and state alone.
  [[nodiscard]] PlanBounds mesh_bounds(std::int32_t mesh, Seconds cutoff = kAnyTime);
  // Of all plans of a grid.
  [[nodiscard]] Seconds grid_bound(const Node& grid);
  // BoundTable::family.
  [[nodiscard]] PlanBounds family_bounds(const Node&, Seconds cutoff = kAnyTime);
  // May be called from several threads. Plans that take longer than `cutoff` are of no interest:
  // bounds hold for those that take no longer.
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
  Opened open_grid(const Node&, Seconds cutoff);
  Opened open_mesh(const Node&, Seconds cutoff);
  Opened refine_exchange(const Node&, Seconds cutoff);
  Opened open_exchange(const Node&);
  Opened refine_family(const Node&, Seconds cutoff);
  Opened open_family(const Node&, Seconds cutoff);
  Opened refine_setting(const Node&, Seconds cutoff);
  Opened price(const Node&, Seconds cutoff);
  Opened price_by_stage(const Node&);

  // The plan with ZeRO-1 at most and the CUDA graphs that launch least: the exchanges of more
  // sharding and more launches only add time, so its bound holds for the given plan too. Many
  // families have the same one.
  [[nodiscard]] Plan reference_of(Plan) const;
  // The first setting of each family that is valid on the mesh and does not repeat another.
  [[nodiscard]] std::vector<std::int16_t> first_settings(std::int32_t mesh) const;
  // A lower bound on the bytes of the family's plans. Any value that fits where it does not matter.
  [[nodiscard]] std::int64_t least_of_family(const Node&, Seconds cutoff);
  [[nodiscard]] std::int64_t least_of_stages(const Node&);
  [[nodiscard]] Opened no_memory(const Node&, std::int64_t least) const;
  [[nodiscard]] PlanBounds own_bounds(const Node&, Seconds cutoff);  // BoundTable::own
  // BoundTable::by_reference.
  [[nodiscard]] Seconds bound_by_reference(const Node&, Seconds cutoff, CompiledLayers&);
  template <class BoundOf>  // of the plans of the node's meshes
  [[nodiscard]] Seconds least_of_groups(const Node&, const BoundOf&) const;
  static void note_peak(std::int64_t, Opened&);
  // What gives up more cannot be faster.
  void does_not_fit(const Node&, std::int64_t peak, Seconds cutoff, Opened&);
  // Those of the choices below the node's that fit, going by bounds; below the others again those
  // that fit.
  void open_below(const Node&, Seconds cutoff, Opened&);
  std::shared_ptr<const std::vector<PlanBounds>> bounds_by_choice(Node, Seconds cutoff);
  // Of the family with the node's memory choice.
  [[nodiscard]] PlanBounds family_with_choice(Node, Seconds cutoff);
  void open_fitting(const Node&, const std::vector<PlanBounds>& by_choice, Opened&) const;
  // The choice that saves nothing does not fit: a bound of those that do; nothing fits: infinite.
  [[nodiscard]] Seconds least_that_fits(const Node& family, Seconds cutoff);
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
  // Bounds depend on the cutoff. It is part of the keys: what was forgotten and is asked for again
  // is then the same, whatever threads do.
  // BoundTable::family, by meshes, family, memory choice and cutoff.
  Recent<NumberKey<6>, PlanBounds, KeyHash> with_choice_{400'000};  // 50 MB
  // BoundTable::by_choice, by meshes, setting and cutoff.
  Recent<NumberKey<5>, std::vector<PlanBounds>, KeyHash> by_choice_{2'000'000};  // bounds: 32 MB
};

}  // namespace pleat
