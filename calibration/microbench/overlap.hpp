// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A product beside collectives, each on its own stream of the ranks' devices: what either costs
// alone, how long both take together, and how much slower the product is meanwhile. Samples; no
// part of the fit.
#pragma once

#include <string>
#include <vector>

#include "calibration/microbench/points.hpp"

namespace pleat {

struct OverlapProduct {
  std::int64_t n = 0;  // n x n by n x n; 0: overlap is not measured
  DType type = DType::bf16;
};

// product, product_beside: seconds of the product, by the device's own clock. collective, both: of
// the calls together, from an idle device to an idle one.
enum class OverlapPart { product, collective, both, product_beside };

struct OverlapPoint {
  OverlapPart part = OverlapPart::both;
  CollectivePoint collective;  // of the product alone: the ranks that are meant
  OverlapProduct product;
};

inline constexpr std::int64_t kOverlapBytes = std::int64_t{256} << 20U;

// The product alone, and of each kind of collective of all ranks in one group (send_recv: of all
// pairs of neighbours, both ways) the other three parts; kOverlapBytes each, at most `most_bytes`.
// Needs two ranks.
[[nodiscard]] std::vector<OverlapPoint> overlap_points(int ranks, const OverlapProduct&,
                                                       std::int64_t most_bytes);
[[nodiscard]] std::string name_of(const OverlapPoint&);
[[nodiscard]] Sample sample_of(const OverlapPoint&, const Timing&);

// The product is on stream 0, the collective on kOverlapStream; both begin together, and the next
// call after both. A device without streams does one after the other.
inline constexpr int kOverlapStream = 1;
[[nodiscard]] Timing time_overlap(RankRunner&, const OverlapPoint&, const TimingLimits&);

}  // namespace pleat
