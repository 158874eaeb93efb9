// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Compute beside collectives: what running both at once costs, each on its own stream of a device.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/microbench/points.hpp"
#include "calibration/microbench/stream_work.hpp"
#include "kernels/device.hpp"

namespace pleat {

// Work on two streams of a device at once.

// `other` on kOverlapStream, from where stream 0 is now; `first` is stream 0's work beside it. What
// stream 0 is given next comes after both. A device without streams does one after the other.
inline constexpr int kOverlapStream = 1;
void side_by_side(Device&, const std::function<void()>& first, const std::function<void()>& other);

// A product, attention, SwiGLU or a copy to the host beside collectives, each on its own stream of
// the ranks' devices: what either costs alone, how long both take together, and how much slower the
// work is meanwhile. Samples; no part of the fit.

// work, work_beside: seconds of the work, by the device's own clock. collective, both: of the calls
// together, from an idle device to an idle one.
enum class OverlapPart { work, collective, both, work_beside };

struct OverlapPoint {
  OverlapPart part = OverlapPart::both;
  CollectivePoint collective;  // of the work alone: the ranks that are meant
  StreamWorkKind work = StreamWorkKind::product;
  StreamWorkSizes sizes;
};

inline constexpr std::int64_t kOverlapBytes = std::int64_t{256} << 20U;

// Each work that has a size alone, and of each kind of collective of all ranks in one group
// (send_recv: of all pairs of neighbours, both ways) the other parts; kOverlapBytes each, at most
// `most_bytes`. The collective alone is there once, with the product: without one there is none.
// Needs two ranks.
[[nodiscard]] std::vector<OverlapPoint> overlap_points(int ranks, const StreamWorkSizes&,
                                                       std::int64_t most_bytes);
[[nodiscard]] std::string name_of(const OverlapPoint&);
[[nodiscard]] Sample sample_of(const OverlapPoint&, const Timing&);

// The work is on stream 0, the collective on kOverlapStream; both begin together, and the next call
// after both. A device without streams does one after the other.
[[nodiscard]] Timing time_overlap(RankRunner&, const OverlapPoint&, const TimingLimits&);

}  // namespace pleat
