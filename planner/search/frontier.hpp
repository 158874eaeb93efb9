// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The nodes that a search has to open, in the order of their bounds, and by how far they are from
// plans that can be priced.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "planner/search/wide_heap.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

// A node to be opened, with a lower bound of its plans' values.
struct Open {
  Seconds least;
  Node node;
};
struct Sooner {
  bool operator()(const Open& a, const Open& b) const {
    return a.least != b.least ? a.least < b.least : a.node.place() < b.node.place();
  }
};

// Nodes to be opened, by how far they are from plans that can be priced.
class Frontier {
 public:
  static constexpr std::size_t kDepths = 6;

  void push(const Open& open) { heaps_[depth_of(open.node)].push(open); }
  [[nodiscard]] bool empty() const {
    return std::ranges::all_of(heaps_, [](const Heap& h) { return h.empty(); });
  }
  // The node that comes first, of all or of one depth.
  [[nodiscard]] const Open& top() const { return heaps_[first()].top(); }
  void pop() { heaps_[first()].pop(); }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Heap& heap : heaps_) std::ranges::for_each(heap.items(), visit);
  }
  [[nodiscard]] bool empty(std::size_t depth) const { return heaps_[depth].empty(); }
  [[nodiscard]] const Open& top(std::size_t depth) const { return heaps_[depth].top(); }
  void pop(std::size_t depth) { heaps_[depth].pop(); }

 private:
  using Heap = WideHeap<Open, Sooner>;
  static std::size_t depth_of(const Node& node) {
    return static_cast<std::size_t>(node.level) +
           (node.level == Level::setting && node.stage == kBounded ? 1 : 0);
  }
  [[nodiscard]] std::size_t first() const {
    std::size_t best = kDepths;
    for (std::size_t d = 0; d < kDepths; ++d) {
      if (heaps_[d].empty()) continue;
      if (best == kDepths || Sooner{}(heaps_[d].top(), heaps_[best].top())) best = d;
    }
    return best;
  }
  std::array<Heap, kDepths> heaps_;
};

}  // namespace pleat
