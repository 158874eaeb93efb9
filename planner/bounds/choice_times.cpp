// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/choice_times.hpp"

#include <algorithm>

namespace pleat {

Seconds ChoiceTimes::step(const ChoiceWays::Choice& choice,
                          const std::vector<Seconds>* copies) const {
  thread_local std::vector<Seconds> done;
  done = finish;
  Seconds latest;
  for (std::size_t s = stages.size(); s-- > 0;) {
    Seconds again, copied;
    for (std::size_t k = 0; k < chunks.kinds(); ++k) {
      again += chunks.longer(choice.recompute, k) * stages[s].chunks[k];
      if (copies != nullptr) copied += (*copies)[k] * stages[s].chunks[k];
    }
    const Seconds busy = std::max(stages[s].work + again, copied);
    const Seconds all = stages[s].outside + busy * passes;
    latest = straight ? std::max(latest, all) : all;
    done[s] = std::max(done[s], latest - stages[s].before);
  }
  const Seconds end = step_end(*ends[static_cast<std::size_t>(choice.state)], done);
  return std::min(most, (end + *std::ranges::max_element(done) * excess) * share + overhead);
}

}  // namespace pleat
