// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The nodes that a search has not opened yet: those to be opened, those whose bounds are above its
// cutoff, and those that it holds back until others have been searched.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "planner/search/frontier.hpp"

namespace pleat {

class WaitingNodes {
 public:
  explicit WaitingNodes(const PlanTree& tree) : tree_(tree) {}

  [[nodiscard]] Seconds least_of(const Node& node) const {
    return node.bound * tree_.weight(node);
  }

  void push(const Node& node, Seconds cutoff) {
    const Open open{least_of(node), node};
    if (open.least <= cutoff) return open_.push(open);
    least_above_ = std::min(least_above_, open.least);
    above_.push_back(node);
  }
  void push(const Open& open) { open_.push(open); }

  // After the cutoff rose, because one plan replaced several of the list.
  void take_back(Seconds cutoff) {
    if (above_.empty() || least_above_ > cutoff) return;
    std::deque<Node> kept;
    kept.swap(above_);
    least_above_ = kNever;
    for (; !kept.empty(); kept.pop_front()) push(kept.front(), cutoff);
  }

  // Holds back all nodes to be opened of which `first` is false, until release().
  template <class First>
  void hold_all_but(const First& first) {
    Frontier kept;
    open_.for_each([&](const Open& open) {
      if (first(open.node)) kept.push(open);
      else held_.push_back(open.node);
    });
    open_ = std::move(kept);
  }
  [[nodiscard]] bool holds_some() const { return !held_.empty(); }
  void release(Seconds cutoff) {
    for (const Node& node : held_) push(node, cutoff);
    held_.clear();
  }

  // What is to be opened next.
  [[nodiscard]] Frontier& open() { return open_; }
  // The smallest bound of the nodes to be opened and those held back.
  [[nodiscard]] Seconds least() const {
    Seconds least = open_.empty() ? kNever : open_.top().least;
    for (const Node& node : held_) least = std::min(least, least_of(node));
    return least;
  }
  // The smallest bound of all but those held back.
  [[nodiscard]] Seconds least_not_held() const {
    return open_.empty() ? least_above_ : std::min(least_above_, open_.top().least);
  }

  // visit(node, whether its bound is above the cutoff).
  template <class Visit>
  void for_each(Seconds cutoff, const Visit& visit) const {
    open_.for_each([&](const Open& open) { visit(open.node, open.least > cutoff); });
    for (const Node& node : held_) visit(node, least_of(node) > cutoff);
    const bool all_above = least_above_ > cutoff;  // weights of millions need not be looked up
    for (const Node& node : above_) visit(node, all_above || least_of(node) > cutoff);
  }

 private:
  static constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

  const PlanTree& tree_;
  Frontier open_;
  // Nodes whose bounds are above the cutoff. There are millions: a deque never moves them.
  std::deque<Node> above_;
  Seconds least_above_ = kNever;  // the smallest bound among them
  std::vector<Node> held_;
};

}  // namespace pleat
