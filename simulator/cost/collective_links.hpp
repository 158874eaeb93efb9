// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The links a collective uses, and what its kinds share.
#pragma once

#include "simulator/cost/op_work.hpp"

namespace pleat {

// Links of one tier as one collective uses them.
struct Link {
  BytesPerSecond rate;  // per rank
  CollectiveCurve curve;
};
struct CollectiveLinks {
  Link outer;  // of the slowest tier the group crosses
  Link inner;  // of the tier below; the outer again when nothing stays inside a domain
  bool several_tiers = false;
};
[[nodiscard]] Link link(const ClusterView&, const Profile&, std::size_t tier, Collective);

// How much longer the transfer takes because small tensors do not reach the rate of the wire.
[[nodiscard]] double slow_start(const CollectiveCurve&, Bytes whole);

// Time within one domain from the profile's measurements: those of the nearest smaller group,
// scaled by the share of the tensor on the wire.
[[nodiscard]] std::optional<KernelPrice> measured_time(const Profile&, Collective, int ranks,
                                                       Bytes whole);

// Exchange of `payload` bytes a rank: all copies of its tokens.
[[nodiscard]] OpCost all_to_all_cost(const Op&, Bytes payload, Bytes row, const GroupPlace&,
                                     const CollectiveLinks&, const ClusterView&, const Profile&);

}  // namespace pleat
