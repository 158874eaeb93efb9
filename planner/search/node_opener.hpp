// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Opens the nodes of a search: bounds, prices, and what lies below. A mesh opens into its graph modes,
// these into families of settings and settings, those that do not fit into their memory choices.
#pragma once

#include <limits>
#include <optional>

#include "planner/search/plan_prices.hpp"
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
};

inline constexpr std::int64_t kNoPeak = std::numeric_limits<std::int64_t>::max();

class NodeOpener {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  NodeOpener(const PlanTree&, PlanPrices&, const ClusterSpec&, std::int64_t usable);

  // Of all plans of a mesh: time, and state alone.
  [[nodiscard]] PlanBounds mesh_bounds(std::int32_t mesh);
  // BoundTable::family.
  [[nodiscard]] PlanBounds family_bounds(const Plan& plan) {
    return bounds_.family(plan, Seconds(std::numeric_limits<double>::infinity()));
  }
  // Several threads may open nodes at once. No plan that takes longer than `cutoff` counts.
  [[nodiscard]] Opened open(const Node&, Seconds cutoff);
  // About what the leanest plan of the mesh needs: of all shardings and places of the optimizer's state,
  // what is given up otherwise nothing or most of all. Bytes; kNoPeak: none is valid.
  [[nodiscard]] std::int64_t lean_bound(std::int32_t mesh);
  // The plan of the mesh that needs least, of those with the smallest memory bounds in each place of the
  // optimizer's state: a bound says less where it comes back for the step. None is valid: nothing.
  [[nodiscard]] std::optional<Candidate> leanest(std::int32_t mesh);

 private:
  Opened open_once(const Node&, Seconds cutoff);
  Opened open_mesh(const Node&);
  Opened open_graph(const Node&);
  Opened refine_family(const Node&, Seconds cutoff);
  Opened open_family(const Node&);
  Opened refine_setting(const Node&, Seconds cutoff);
  Opened price(const Node&);
  Opened price_by_stage(const Node&);

  // What bounds the plan and more beside: exchanges of shards and launches by the host only add.
  // Many families share it.
  [[nodiscard]] Plan reference_of(Plan) const;
  // Of each family the first setting that is valid on the mesh and none's repetition.
  [[nodiscard]] std::vector<std::int16_t> first_settings(std::int32_t mesh) const;
  // Bytes that a plan of the family needs at least, or some that fit.
  [[nodiscard]] std::int64_t least_of_family(const Node&);
  [[nodiscard]] std::int64_t least_of_stages(const Node&);
  [[nodiscard]] Opened no_memory(const Node&, std::int64_t least) const;
  // What gives up more cannot be faster.
  void does_not_fit(const Node&, std::int64_t peak, Opened&) const;
  void open_below(const Node&, Opened&) const;
  template <class Visit>  // the valid settings of a family, without memory choice
  void for_each_setting(const Node& family, const Visit&) const;

  const PlanTree& tree_;
  Estimator& estimator_;
  BoundTable& bounds_;
  std::int64_t usable_;
  std::int64_t host_;  // bytes of a node; 0: unknown
  int gpus_per_node_;
};

}  // namespace pleat
