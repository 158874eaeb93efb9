// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/best_list.hpp"

#include <algorithm>

namespace pleat {

std::size_t BestList::most() const {
  return static_cast<std::size_t>(std::max(1, tree_.config.top));
}

Seconds BestList::cutoff() const {
  if (plans_.size() < most()) return tree_.config.not_above;
  return std::min(tree_.config.not_above, value(plans_.size() - 1));
}

const char* BestList::superseded(const Node& node, Seconds least) const {
  if (node.setting < 0) return nullptr;
  for (std::size_t i = 0; i < nodes_.size() && value(i) <= least; ++i) {
    if (!tree_.same_mesh(nodes_[i], node)) continue;
    const bool tie = value(i) == least;
    if (tie && nodes_[i].memory == node.memory && node.place() < nodes_[i].place()) continue;
    if (const char* reason = tree_.memory.supersedes(nodes_[i].memory, node.memory)) return reason;
  }
  return nullptr;
}

std::vector<const char*> BestList::enter(const Node& node, std::vector<StageOverride> stages,
                                          StepEstimate estimate) {
  const Seconds own = value_of(estimate, tree_.config.robust);
  if (own > tree_.config.not_above) return {"slower"};
  if (const char* reason = superseded(node, own)) return {reason};
  std::vector<const char*> reasons;
  for (std::size_t i = nodes_.size(); i-- > 0;) {  // what the new one supersedes
    if (!tree_.same_mesh(nodes_[i], node) || value(i) < own) continue;
    const char* reason = tree_.memory.supersedes(node.memory, nodes_[i].memory);
    if (reason == nullptr) continue;
    reasons.push_back(reason);
    drop(i);
  }
  std::size_t at = 0;
  while (at < nodes_.size() &&
         (value(at) != own ? value(at) < own : nodes_[at].place() < node.place())) {
    ++at;
  }
  nodes_.insert(nodes_.begin() + static_cast<std::ptrdiff_t>(at), node);
  Plan plan = tree_.plan_of(node);
  plan.stages = std::move(stages);
  plans_.insert(plans_.begin() + static_cast<std::ptrdiff_t>(at),
                {std::move(plan), std::move(estimate)});
  if (nodes_.size() > most()) {
    drop(nodes_.size() - 1);
    reasons.push_back("slower");
  }
  return reasons;
}

void BestList::drop(std::size_t i) {
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
  plans_.erase(plans_.begin() + static_cast<std::ptrdiff_t>(i));
}

}  // namespace pleat
