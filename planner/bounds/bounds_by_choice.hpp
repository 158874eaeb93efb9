// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The bounds of all memory choices of a plan. Most choices have the same as many others: they are
// too slow, or do not fit, for one reason. Those are held once, so that searches can remember more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "planner/bounds/plan_bounds.hpp"

namespace pleat {

class BoundsByChoice {
 public:
  using Index = std::uint32_t;  // of a bound among the different ones
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  explicit BoundsByChoice(std::size_t choices) : of_(choices, kNone) {}
  // The choice must have a bound.
  const PlanBounds& operator[](std::size_t choice) const { return different_[of_[choice]]; }
  [[nodiscard]] std::size_t choices() const { return of_.size(); }
  [[nodiscard]] const std::vector<PlanBounds>& different() const { return different_; }
  [[nodiscard]] std::size_t bytes() const {
    return of_.capacity() * sizeof(Index) + different_.capacity() * sizeof(PlanBounds);
  }

  [[nodiscard]] bool has(std::size_t choice) const { return of_[choice] != kNone; }
  [[nodiscard]] Index index(std::size_t choice) const { return of_[choice]; }
  void set(std::size_t choice, Index index) { of_[choice] = index; }
  Index add(PlanBounds bounds) {
    different_.push_back(bounds);
    return static_cast<Index>(different_.size() - 1);
  }

 private:
  std::vector<Index> of_;  // by choice
  std::vector<PlanBounds> different_;
};

}  // namespace pleat
