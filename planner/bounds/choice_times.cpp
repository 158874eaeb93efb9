// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/choice_times.hpp"

#include <algorithm>

namespace pleat {

Seconds ChoiceTimes::end_after(std::size_t stage, const ChoiceWays::Choice& choice,
                               const std::vector<Seconds>* copies) const {
  const Stage& of = stages[stage];
  Seconds again, copied;
  for (std::size_t k = 0; k < chunks.kinds(); ++k) {
    again += chunks.longer(choice.recompute, k) * of.chunks[k];
    if (copies != nullptr) copied += (*copies)[k] * of.chunks[k];
  }
  return of.outside + std::max(of.work + again, copied) * passes;
}

Seconds ChoiceTimes::step_of(StatePlace state, const std::vector<Seconds>& done) const {
  const Seconds end = step_end(*ends[static_cast<std::size_t>(state)], done);
  return std::min(most, (end + *std::ranges::max_element(done) * excess) * share + overhead);
}

Seconds ChoiceTimes::step(const ChoiceWays::Choice& choice,
                          const std::vector<Seconds>* copies) const {
  thread_local std::vector<Seconds> done;
  done = finish;
  Seconds latest;
  for (std::size_t s = stages.size(); s-- > 0;) {
    const Seconds all = end_after(s, choice, copies);
    latest = straight ? std::max(latest, all) : all;
    done[s] = std::max(done[s], latest - stages[s].before);
  }
  return step_of(choice.state, done);
}

Seconds ChoiceTimes::step_of_stage(std::size_t stage, const ChoiceWays::Choice& choice,
                                   const std::vector<Seconds>& copies) const {
  thread_local std::vector<Seconds> done;
  done = finish;
  const Seconds all = end_after(stage, choice, &copies);
  for (std::size_t s = straight ? 0 : stage; s <= stage; ++s) {
    done[s] = std::max(done[s], all - stages[s].before);
  }
  return step_of(choice.state, done);
}

}  // namespace pleat
