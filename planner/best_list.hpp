// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans a search lists: the fastest so far, really different ones.
#pragma once

#include <optional>

#include "planner/plan_tree.hpp"

namespace pleat {

class BestList {
 public:
  explicit BestList(const PlanTree& tree) : tree_(tree) {}

  // The value (value_of) that a plan must not exceed to enter; what the search was told while there
  // is room.
  [[nodiscard]] Seconds cutoff() const;
  // Why a plan of `node` whose value is `value` or more cannot enter: a variant of it is listed that is
  // as good ("variant"), or a plan of the same mesh as good that gives up less for memory
  // ("needless"); null otherwise.
  [[nodiscard]] const char* superseded(const Node&, Seconds value) const;
  // Enters the plan of a setting, with what single stages do; the reasons why it, or another instead, is not listed.
  std::vector<const char*> enter(const Node&, std::vector<StageOverride>, StepEstimate);

  [[nodiscard]] const std::vector<Candidate>& plans() const { return plans_; }  // best first
  [[nodiscard]] std::vector<Candidate> take() { return std::move(plans_); }

 private:
  [[nodiscard]] std::size_t most() const;
  [[nodiscard]] Seconds value(std::size_t i) const {
    return value_of(plans_[i].estimate, tree_.config.robust);
  }
  void drop(std::size_t i);

  const PlanTree& tree_;
  std::vector<Node> nodes_;  // parallel to plans_
  std::vector<Candidate> plans_;
};

}  // namespace pleat
