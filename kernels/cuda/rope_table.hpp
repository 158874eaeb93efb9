// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// Cosine and sine, float2, of every position < `positions` and pair, [positions, dim / 2], times
// the rule's magnitude: made in fp64 from rope_frequency, once for a rule, and kept by the set.
[[nodiscard]] const void* rope_table(Resources&, const RopeShape&, std::int64_t positions);

}  // namespace pleat::cuda
