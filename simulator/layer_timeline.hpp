// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One pass of a layer, or a pair of passes, op by op: costs and start times. What `price` sums up
// and the predicted trace shows.
#pragma once

#include <optional>
#include <vector>

#include "core/program/passes/pair.hpp"
#include "core/program/pipeline_order.hpp"
#include "simulator/priced_ops.hpp"
#include "simulator/streams.hpp"

namespace pleat {

struct LayerTimeline {
  std::vector<PairStep> steps;   // ops in issue order; one pass only: in program order
  std::vector<OpCost> costs;     // by step
  StreamTimeline streams;        // by step; send and recv take no time
  Seconds host;                  // to launch them all
  Seconds host_extra;            // the profile's host time of a layer, on top of the kernels
  Seconds lost_overlap;          // of a pair: what ideal streams would save and real ones do not
  Seconds lost_to_shards;        // compute slowed by exchanges of sharded weights and gradients
  [[nodiscard]] Seconds time() const {
    return std::max(streams.end + lost_to_shards, host) + host_extra + lost_overlap;
  }
};

// The profile's host time of one pass of a layer, on top of its kernels.
[[nodiscard]] Seconds host_of_pass(const LayerProgram&, Pass, const ClusterView&, const Profile&);

// The ops of one pass before the streams run them.
[[nodiscard]] std::vector<StreamOp> stream_ops(const TimedLayer&, Pass, const ClusterView&,
                                               const Profile&);

[[nodiscard]] LayerTimeline pass_timeline(const TimedLayer&, Pass, const ClusterView&,
                                          const Profile&);
// One part of a backward pass that is split; each has half of the pass's host time.
[[nodiscard]] LayerTimeline part_timeline(const TimedLayer&, SlotPart, const ClusterView&,
                                          const Profile&);
// `alone`: both passes' streams one after the other, where it is known.
[[nodiscard]] LayerTimeline pair_timeline(const TimedLayer& forward, const TimedLayer& backward,
                                          const ClusterView&, const Profile&, bool delay_wgrad,
                                          std::optional<Seconds> alone = {});

}  // namespace pleat
