// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which memory choices come after one whose plan does not fit. The tree of choices
// (space/memory_tree.hpp) gives up more from level to level; of each branch the first choice comes
// next whose bound of memory fits.
#pragma once

#include <memory>
#include <vector>

#include "planner/search/node_bounds.hpp"
#include "planner/search/opened.hpp"

namespace pleat {

// Nodes are settings with a memory choice. May be called from several threads.
class ChoicesBelow {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  ChoicesBelow(const PlanTree&, NodeBounds&, std::int64_t usable);

  // Makes nodes of these; the choices above them, which do not fit, are rejected.
  void open(const Node&, Seconds cutoff, Opened&);
  // The smallest bound of these, or one that is no more than `enough`. Infinite: none fits.
  [[nodiscard]] Seconds least(const Node&, Seconds cutoff, Seconds enough);
  // Whether there are so many that the time of a plan that does not fit is worth its price: it is a
  // bound for all of them.
  [[nodiscard]] bool worth_a_price(const Node&, Seconds cutoff);
  // Whether the choice recomputes and sends nothing, and choices below it send something: it is no
  // slower than they are, so that its own bound is of use even where it does not fit.
  [[nodiscard]] bool bounds_offload(int choice) const {
    return bounds_offload_[static_cast<std::size_t>(choice)];
  }

 private:
  // What is known of a setting's memory choices.
  struct Known {
    std::shared_ptr<const BoundsByChoice> bounds;  // of its family
    ChoiceSteps steps;
    Seconds cutoff;
  };
  [[nodiscard]] Known known_of(const Node&, Seconds cutoff);
  // How many come next below the choice and may be within the cutoff, counted up to `enough`.
  [[nodiscard]] int count(int choice, const BoundsByChoice&, Seconds cutoff,
                          int enough) const;
  [[nodiscard]] Seconds least(const Node&, Known&, Seconds enough) const;
  void open(const Node&, Known&, Opened&) const;

  const PlanTree& tree_;
  NodeBounds& of_;
  std::int64_t usable_;
  std::vector<bool> bounds_offload_;  // by choice
};

}  // namespace pleat
