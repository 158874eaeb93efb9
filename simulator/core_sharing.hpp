// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that outnumber the cores of their machine: every operation is priced as if all ranks were
// always at work, and a rank that waits leaves its share to the others.
#pragma once

#include <vector>

#include "core/spec/cluster.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {

// Turns priced time into real time (docs/MODEL.md section 8). While a of R ranks work on C cores,
// real time is max(C, a) / R of the priced time, which assumes that all ranks work. All working
// ranks have the same rate, so the order of events does not change.
class CoreSharing {
 public:
  // The starts of the timeline are set. `ranks`: the number of ranks of the job.
  CoreSharing(const StageRecords&, const ScheduleTable&, const StepTimeline&, int cores, int ranks);
  [[nodiscard]] Seconds operator()(Seconds priced) const;  // unchanged beyond the timeline's end

 private:
  struct Knot {
    Seconds priced, real;
  };
  std::vector<Knot> knots_;
};

// Whether a job of `ranks` on a pipeline of `stages` has ranks that wait while others need a core.
[[nodiscard]] inline bool frees_cores(const ClusterSpec& cluster, int ranks, std::size_t stages) {
  return cluster.shared_cores > 0 && ranks > cluster.shared_cores && stages > 1;
}
// The least share of the priced time that such a step can take.
[[nodiscard]] inline double least_share(const ClusterSpec& cluster, int ranks, std::size_t stages) {
  return frees_cores(cluster, ranks, stages) ? static_cast<double>(cluster.shared_cores) / ranks
                                             : 1;
}

}  // namespace pleat
