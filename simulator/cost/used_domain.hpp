// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How much of each network domain a job uses.
#pragma once

#include "core/spec/cluster.hpp"

namespace pleat {

// Ranks of one domain of the tier that the job uses. Domains are filled alike: the largest divisor
// of the job's ranks that fits (64 of the 72 of an NVL72 rack for 256 ranks). Where whole pipeline
// stages of `stage_ranks` make up a domain, all but the last one are filled up instead, if that
// takes fewer domains or keeps stages from being split: 100 ranks in stages of 4 are 12 nodes of 8
// and half of another, not 20 with 5 used.
[[nodiscard]] int used_domain(const NetworkTier&, int ranks, int stage_ranks);

}  // namespace pleat
