// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The least step of a plan's memory choices: that of the plan that gives up nothing, longer by what
// a choice runs again, and no shorter than the copies of what it sends.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/bounds/choice_bytes.hpp"
#include "planner/bounds/step_tail.hpp"

namespace pleat {

struct ChoiceTimes {
  // A stage of the plan that gives up nothing. The times are earliest times.
  struct Stage {
    std::vector<double> chunks;  // how many it has, by kind
    Seconds work;                // of a microbatch
    // Before and after all its work, until the first stage can be done; the second of it after
    // this stage is done.
    Seconds outside, before;
  };

  // `copies`: of what is sent, by kind of chunk (ChoiceBytes::copies); null: nothing is sent. The
  // choice's place of the optimizer's state must have its `ends`.
  [[nodiscard]] Seconds step(const ChoiceWays::Choice&, const std::vector<Seconds>* copies) const;
  // The step where this stage has the choice, whatever the other stages have.
  [[nodiscard]] Seconds step_of_stage(std::size_t stage, const ChoiceWays::Choice&,
                                      const std::vector<Seconds>& copies) const;

  ChunkTables chunks;
  std::vector<Stage> stages;
  std::vector<Seconds> finish;  // of each stage, of the plan that gives up nothing
  bool straight = false;        // a stage's end is followed by those of the stages before
  double passes = 0;            // of a chunk, in a step
  // By StatePlace: the step's own operations.
  std::array<std::optional<TailCosts>, kStatePlaces> ends = {};
  // What the pipeline leaves out: stragglers, shared cores, and what every step takes.
  double excess = 0, share = 1;
  Seconds overhead;
  Seconds most;  // no step is said to take longer: just above the cutoff of a lower clock

 private:
  // From the start of the step until the first stage can be done after this one.
  [[nodiscard]] Seconds end_after(std::size_t stage, const ChoiceWays::Choice&,
                                  const std::vector<Seconds>* copies) const;
  [[nodiscard]] Seconds step_of(StatePlace, const std::vector<Seconds>& done) const;
};

}  // namespace pleat
