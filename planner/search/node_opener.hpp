// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Opens nodes of the search tree: asks for bounds, prices plans, and makes the nodes below. A grid
// opens into its meshes, a mesh into ways to exchange, one of these into families of settings, a
// family into its settings. A setting that does not fit in memory opens into memory choices.
#pragma once

#include <optional>

#include "core/spec/cluster.hpp"
#include "planner/search/choices_below.hpp"
#include "planner/search/node_bounds.hpp"
#include "planner/search/opened.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/search_result.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

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
  Opened price_by_stage(const Node&, Seconds cutoff);
  [[nodiscard]] Priced with_estimate(const Node&, StepEstimate) const;

  class RoughBytes;
  // The first setting of each family that is valid on the mesh and does not repeat another.
  [[nodiscard]] std::vector<std::int16_t> first_settings(std::int32_t mesh) const;
  [[nodiscard]] Opened no_memory(const Node&, std::int64_t least) const;
  // What gives up more cannot be faster.
  void does_not_fit(const Node&, std::int64_t peak, Seconds cutoff, Opened&);

  const PlanTree& tree_;
  Estimator& estimator_;
  BoundTable& bounds_;
  NodeBounds of_;
  ChoicesBelow below_;
  std::int64_t usable_;
  std::int64_t host_;  // bytes of a node; 0: unknown
  int gpus_per_node_;
};

}  // namespace pleat
