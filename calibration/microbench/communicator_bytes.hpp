// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What one more communicator holds of a device's memory once it has been used.
#pragma once

#include <cstdint>

#include "calibration/microbench/rank_runner.hpp"

namespace pleat {

// By how much what the driver of rank 0's device counts as used grows from before a communicator of
// the first `ranks` is made, beside the kept one of the same, until it has summed, gathered and
// exchanged a megabyte; the buffers of these are given back before. 0: no driver says it, or rank 0
// is not here. All processes of the job call it.
[[nodiscard]] std::int64_t communicator_bytes(RankRunner&, int ranks);

}  // namespace pleat
