// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The list of a search: the best plans found so far that are really different from one another.
#pragma once

#include "planner/search/different_plans.hpp"
#include "planner/search_result.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

// By how much, at most, another layout is expected to lower a plan's value.
inline constexpr double kSpareValue = 0.02;

class BestList {
 public:
  // `gpu_bytes`: of a GPU's memory.
  BestList(const PlanTree& tree, double gpu_bytes)
      : tree_(tree), close_bytes_(kCloseMemory * gpu_bytes), certain_(most()) {}

  // The largest value (value_of) that is of interest: that of the last listed plan which is to be
  // certain. While there are fewer, that is SearchConfig::not_above. It can rise: one new plan may
  // replace several.
  [[nodiscard]] Seconds cutoff() const;
  // From now on plans after the first `count` are listed if they turn up.
  void be_certain_of(int count) { certain_ = static_cast<std::size_t>(count); }
  // Why a plan of `node` with this value or a larger one cannot be listed: "variant" if a variant
  // of it is known that is as good, "over-saving" if a plan of the same mesh is as good and saves
  // less memory; null if it can.
  [[nodiscard]] const char* superseded(const Node&, Seconds value) const;
  // Adds the plan of a setting, with what its stages do apart from the others. Returns the reasons
  // of all plans, this one or earlier ones, that are now certain not to be listed.
  std::vector<const char*> enter(const Node&, std::vector<StageOverride>, StepEstimate);

  [[nodiscard]] bool empty() const { return known_.empty(); }
  [[nodiscard]] const Candidate& best() const { return known_.front().plan; }
  // The listed plans, best first, and for each other known plan why it is not listed: "alike" or
  // "slower". `spares` are slower pipelines that may be among the best with another layout.
  struct Taken {
    std::vector<Candidate> best;
    std::vector<const char*> others;
    std::vector<Candidate> spares;
  };
  [[nodiscard]] Taken take();

 private:
  // A plan that no other supersedes. Plans that are close to a better one, or slower than the last
  // listed one, are kept as well: the plans before them may be superseded later.
  struct Known {
    Node node;
    int mesh = 0;       // equal for plans of the same mesh (PlanTree::same_mesh)
    bool close_to_listed = false;
    Candidate plan;
  };
  [[nodiscard]] std::size_t most() const;
  [[nodiscard]] Seconds value(const Known& k) const {
    return value_of(k.plan.estimate, tree_.config.robust);
  }
  [[nodiscard]] int mesh_of(const Node&);
  void mark_near(int mesh);
  void spare(Known);
  // The first plan that cannot be listed.
  [[nodiscard]] std::size_t end_of_hopeful() const;

  const PlanTree& tree_;
  double close_bytes_;
  std::size_t certain_;
  std::vector<Known> known_;  // best first
  std::vector<Known> spares_;
  int meshes_ = 0;            // numbered so far
};

}  // namespace pleat
