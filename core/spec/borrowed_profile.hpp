// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A cluster that nobody measured, of a GPU that somebody did. Kernels, host times and clocks belong
// to the GPU and its runtime, collectives to the network: where a tier is the measured cluster's,
// its collectives are, too.
#pragma once

#include "core/spec/cluster.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

// Whether both have the same GPU, whatever their networks are. Not of hosts whose ranks share
// cores.
[[nodiscard]] bool has_gpu_of(const ClusterSpec& cluster, const ClusterSpec& measured);

// The profile of `measured` as one of `cluster`: the constants of collectives of tiers that both
// have, round ones (datasheet_profile) of the others and a band of at least 20%. Rates of exchange
// kernels between nodes follow the bandwidth of the network. The name stays, so that one sees
// whose it is.
[[nodiscard]] Profile borrow_profile(Profile of_measured, const ClusterSpec& measured,
                                     const ClusterSpec& cluster);

}  // namespace pleat
