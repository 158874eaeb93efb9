// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Good plans without a search: a search that knows them leaves out early what is slower, and one
// that is cut off before it has found a plan answers with the best of them.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search/sampled_meshes.hpp"
#include "planner/search_result.hpp"

namespace pleat {

struct GoodPlan {
  Node node;  // of one mesh
  StepEstimate estimate;
};

// Call `look` once, then `look_closer` if at all. The same at any number of threads.
class GoodPlans {
 public:
  // The references must outlive it. Plans fit in `usable` bytes of a GPU. So `many` meshes, the
  // best ones, are tried with other settings and memory choices.
  GoodPlans(const PlanTree&, NodeOpener&, Workers&, std::int64_t usable, std::size_t many);

  // Takes the meshes with the smallest bounds of a sample, with a usual setting and the memory
  // choices that fit by their bounds, and as many with the smallest bounds of a choice that fits;
  // tries the settings of the best one, and those that did best there, with each of the best
  // meshes; then chooses their memory again.
  void look();
  // The same with bounds of the settings' own layers, which take longer, then on meshes near the
  // best plans while these become faster. Some CPU seconds of large spaces; `goes_on` is asked now
  // and then, and false ends it.
  void look_closer(const std::function<bool()>& goes_on);

  // The best plan (value_of) of each mesh (PlanTree::same_mesh) that was tried, best first; none
  // where none of those priced fits.
  [[nodiscard]] const std::vector<GoodPlan>& found() const { return found_; }
  [[nodiscard]] std::int64_t priced() const { return priced_; }

 private:
  using Settings = std::vector<std::int16_t>;
  void price_meshes(const std::vector<BoundedNode>& meshes, bool leanest = false);
  [[nodiscard]] Settings price_settings();
  void price_choices();
  [[nodiscard]] std::vector<BoundedNode> settings_of(const Node&);
  [[nodiscard]] std::vector<BoundedNode> fitting_choices(const std::vector<BoundedNode>& meshes,
                                                         bool leanest, std::size_t most);
  using Choices = std::map<std::pair<std::size_t, StatePlace>, int>;  // by recompute way and state
  void collect(int choice, const BoundsByChoice& bounds, std::int64_t usable,
               Choices& found) const;
  [[nodiscard]] std::vector<BoundedNode> those_that_fit(const std::vector<Node>&);
  std::vector<std::pair<Node, Seconds>> price(const std::vector<BoundedNode>&, std::size_t most);
  void enter(GoodPlan);
  // What bounds may come to, so that a plan fits, going by those that were priced.
  [[nodiscard]] std::int64_t usable_of(std::int32_t mesh) const {
    const auto known = excess_.find(mesh);
    return usable_ - (known == excess_.end() ? 0 : known->second);
  }
  [[nodiscard]] Seconds value(const GoodPlan& plan) const {
    return value_of(plan.estimate, tree_.config.robust);
  }

  const PlanTree& tree_;
  NodeOpener& opener_;
  Workers& workers_;
  SampledMeshes meshes_;
  std::int64_t usable_;
  // By mesh: by how much peaks were above their bounds, of plans that did not fit.
  std::map<std::int32_t, std::int64_t> excess_;
  std::size_t many_;
  bool closer_ = false;          // bounds are of settings' own layers
  std::vector<GoodPlan> found_;  // of each mesh, best first
  std::int64_t priced_ = 0;
};

}  // namespace pleat
