// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/core_sharing.hpp"

#include <algorithm>

namespace pleat {
namespace {

struct Change {
  Seconds at;
  int ranks = 0;  // that begin to work, or stop
};

class Activity {
 public:
  explicit Activity(int ranks_per_stage) : ranks_(ranks_per_stage) {}

  void add(Seconds from, Seconds length) {
    if (length <= Seconds(0)) return;
    changes_.push_back({from, ranks_});
    changes_.push_back({from + length, -ranks_});
  }

  std::vector<Change> sorted() && {
    std::ranges::sort(changes_, {}, &Change::at);
    return std::move(changes_);
  }

 private:
  int ranks_;
  std::vector<Change> changes_;
};

}  // namespace

CoreSharing::CoreSharing(const StageRecords& stages, const ScheduleTable& table,
                         const StepTimeline& step, int cores, int ranks) {
  PLEAT_ASSERT(step.pipeline.starts.size() == table.steps.size());
  Activity activity(ranks / static_cast<int>(stages.size()));
  const std::vector<Seconds> durations = slot_durations(stages, table);
  const auto kinds = static_cast<std::size_t>(table.kinds());
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    const ScheduleTable::Step& slot = table.steps[i];
    activity.add(step.pipeline.starts[i], durations[static_cast<std::size_t>(slot.stage) * kinds +
                                                    static_cast<std::size_t>(slot.work)]);
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    activity.add(Seconds(0), step.prologue[s]);
    for (std::size_t i = 0; i < stages[s]->epilogue.size(); ++i) {
      activity.add(step.step_end.starts[s][i], stages[s]->epilogue[i].exposed);
    }
  }
  const auto rate = [&](int active) {
    return static_cast<double>(std::max(cores, active)) / ranks;
  };
  Knot now;
  int active = 0;
  knots_.push_back(now);
  for (const Change& change : std::move(activity).sorted()) {
    if (change.at > now.priced) {
      now.real += (change.at - now.priced) * rate(active);
      now.priced = change.at;
      knots_.push_back(now);
    }
    active += change.ranks;
  }
}

Seconds CoreSharing::operator()(Seconds priced) const {
  const auto after = std::ranges::upper_bound(knots_, priced, {}, &Knot::priced);
  const Knot& before = *(after - 1);  // the first one is at 0
  if (after == knots_.end()) return before.real + (priced - before.priced);
  const double share = (priced - before.priced) / (after->priced - before.priced);
  return before.real + (after->real - before.real) * share;
}

}  // namespace pleat
