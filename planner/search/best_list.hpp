// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans a search lists: the fastest so far, really different ones.
#pragma once

#include "planner/search/different_plans.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

class BestList {
 public:
  // `gpu_bytes`: of a GPU's memory.
  BestList(const PlanTree& tree, double gpu_bytes)
      : tree_(tree), near_bytes_(kNearMemory * gpu_bytes) {}

  // The value (value_of) that a plan must not exceed to be listed; what the search was told while
  // there is room. It rises where one plan takes the place of several.
  [[nodiscard]] Seconds cutoff() const;
  // Why a plan of `node` whose value is `value` or more cannot enter: a variant of it is known that
  // is as good ("variant"), or a plan of the same mesh as good that gives up less for memory
  // ("needless"); null otherwise.
  [[nodiscard]] const char* superseded(const Node&, Seconds value) const;
  // Enters the plan of a setting, with what single stages do; the reasons why it, or others, will
  // not be listed whatever comes.
  std::vector<const char*> enter(const Node&, std::vector<StageOverride>, StepEstimate);

  [[nodiscard]] bool empty() const { return known_.empty(); }
  [[nodiscard]] const Candidate& best() const { return known_.front().plan; }
  // The listed ones, best first, and for each of the others why it is not: "near" or "slower".
  // `spares`: of the slower ones of several stages those that another layout may bring among the best.
  struct Taken {
    std::vector<Candidate> best;
    std::vector<const char*> others;
    std::vector<Candidate> spares;
  };
  [[nodiscard]] Taken take();

 private:
  // A plan that none supersedes. Those that are near another or slower than the K-th are kept: what
  // stands before them may itself be superseded.
  struct Known {
    Node node;
    int mesh = 0;       // the same number for all that are same_mesh
    bool near = false;  // a listed one
    Candidate plan;
  };
  [[nodiscard]] std::size_t most() const;
  [[nodiscard]] Seconds value(const Known& k) const {
    return value_of(k.plan.estimate, tree_.config.robust);
  }
  [[nodiscard]] int mesh_of(const Node&);
  void mark_near(int mesh);
  void spare(Known);
  // The first of those that cannot be listed.
  [[nodiscard]] std::size_t end_of_hopeful() const;

  const PlanTree& tree_;
  double near_bytes_;
  std::vector<Known> known_;  // best first
  std::vector<Known> spares_;
  int meshes_ = 0;            // numbered so far
};

}  // namespace pleat
