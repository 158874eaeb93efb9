// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of one plan's memory choices, one by one, of the whole pipeline or of a stage, from the
// layers of the plan that gives up nothing (choice_bytes.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/bounds/bounds.hpp"
#include "planner/bounds/choice_bytes.hpp"
#include "planner/bounds/choice_times.hpp"

namespace pleat {

class OneChoiceBounds {
 public:
  // The references must outlive it. `plan` gives up nothing; `order` is that of its pipeline, or
  // one that holds less. Times are those of the highest clock of a plan that takes at most
  // `cutoff`, with the layers that all plans of the family share.
  OneChoiceBounds(BoundTable&, const Plan& plan, const Schedule& order, const ChoiceWays&,
                  Seconds cutoff);

  // What follows is asked of this choice.
  void set(const ChoiceWays::Choice&);
  // kHostIsFull or kStepRefused, by where the optimizer's state is; else 0.
  [[nodiscard]] std::int64_t never(const ChoiceWays::Choice&);
  // Bytes of a stage; and of the largest, or of one that has more than `usable`.
  [[nodiscard]] std::int64_t bytes_of_stage(std::size_t stage);
  [[nodiscard]] std::int64_t bytes(std::int64_t usable);
  // The step where all stages have the choice, and without the time of what it sends away.
  [[nodiscard]] Seconds step();
  [[nodiscard]] Seconds step_without_sending(const ChoiceWays::Choice&);
  // The step where this stage has the choice, whatever the other stages have.
  [[nodiscard]] Seconds step_of_stage(std::size_t stage);

 private:
  struct Place {
    Plan plan;
    std::vector<BoundTable::StateBytes> state;  // by stage
    std::int64_t never = 0;
  };
  const Place& place_of(const ChoiceWays::Choice&);
  double bytes_of(std::size_t stage, const Place&, const std::vector<double>& kept) const;

  BoundTable& table_;
  const Plan& plan_;
  const Plan ordered_;
  const PlanParts parts_;
  const BoundTable::Shape& shape_;
  CompiledLayers compiled_;
  const BoundTable::Layers* layers_;  // at the highest clock
  ChoiceTimes times_;
  ChoiceBytes bytes_;
  std::vector<std::vector<std::vector<double>>> held_;  // [stage][moment][kind of chunk]
  // Of the plan that gives up nothing. What one gives up comes back before its backward pass, and
  // adds to it.
  std::vector<BoundTable::StageRest> rest_;
  std::int64_t beside_;
  // By StatePlace: all choices with one place have one share there.
  std::array<std::optional<Place>, kStatePlaces> places_;
  // By way to recompute and place; negative: not asked for yet.
  std::vector<Seconds> without_sending_;
  const ChoiceWays::Choice* choice_ = nullptr;
};

}  // namespace pleat
