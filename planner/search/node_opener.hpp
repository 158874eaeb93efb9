// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Opens nodes of the search tree: asks for bounds, prices plans, and makes the nodes below. A grid
// opens into its meshes, a mesh into ways to exchange, one of these into families of settings, a
// family into its settings. A setting that does not fit in memory opens into memory choices.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/spec/cluster.hpp"
#include "planner/search/node_bounds.hpp"
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

class NodeOpener {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  NodeOpener(const PlanTree&, PlanPrices&, const ClusterSpec&, std::int64_t usable);

  [[nodiscard]] NodeBounds& bounds() { return of_; }
  // May be called from several threads. Plans that take longer than `cutoff` are of no interest:
  // bounds hold for those that take no longer.
  [[nodiscard]] Opened open(const Node&, Seconds cutoff);
  // The plan of a setting with its memory choice, on one mesh, whatever its bounds. Not by stage.
  [[nodiscard]] Priced price_one(const Node&);
  // Between rounds, when no thread opens a node.
  void forget_layers() { bounds_.forget_layers(); }
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
  [[nodiscard]] Priced with_estimate(const Node&, StepEstimate) const;

  class RoughBytes;
  // The first setting of each family that is valid on the mesh and does not repeat another.
  [[nodiscard]] std::vector<std::int16_t> first_settings(std::int32_t mesh) const;
  [[nodiscard]] Opened no_memory(const Node&, std::int64_t least) const;
  static void note_peak(std::int64_t, Opened&);
  // What gives up more cannot be faster.
  void does_not_fit(const Node&, std::int64_t peak, Seconds cutoff, Opened&);
  // Those of the choices below the node's that fit, going by bounds; below the others again those
  // that fit.
  void open_below(const Node&, Seconds cutoff, Opened&);
  [[nodiscard]] bool bounds_offload(const Node& node) const {
    return bounds_offload_[static_cast<std::size_t>(node.memory)];
  }
  // Whether so many choices below may fit that the time of a plan that does not is worth its price:
  // it is a bound for all of them.
  [[nodiscard]] bool worth_a_price(const Node&, Seconds cutoff);
  // How many nodes open_fitting makes below the choice, counted up to `enough`.
  [[nodiscard]] int fit_below(int choice, const std::vector<PlanBounds>& by_choice,
                              int enough) const;
  void open_fitting(const Node&, const std::vector<PlanBounds>& by_choice, Opened&) const;

  const PlanTree& tree_;
  Estimator& estimator_;
  BoundTable& bounds_;
  NodeBounds of_;
  std::int64_t usable_;
  std::int64_t host_;  // bytes of a node; 0: unknown
  int gpus_per_node_;
  // By choice: it recomputes and sends nothing, and choices below it send something.
  std::vector<bool> bounds_offload_;
};

}  // namespace pleat
