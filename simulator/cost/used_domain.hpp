// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How much of each network domain a job uses.
#pragma once

#include "core/spec/cluster.hpp"

namespace pleat {

// Ranks of one domain of the tier that the job uses. Domains are filled alike: the largest divisor
// of the job's ranks that fits (64 of the 72 of an NVL72 rack for 256 ranks).
[[nodiscard]] int used_domain(const NetworkTier&, int ranks);

}  // namespace pleat
