// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds of one plan, or of each of a group of plans.
#pragma once

#include <cstdint>
#include <limits>

#include "core/quantity.hpp"

namespace pleat {

struct PlanBounds {
  Seconds step;
  std::int64_t peak_bytes = 0;  // of the largest stage
};
// `peak_bytes` of a plan whose optimizer state does not fit in host memory.
inline constexpr std::int64_t kHostIsFull = std::numeric_limits<std::int64_t>::max();
// The same where the runtime does not step its state there (refused_cpu_step).
inline constexpr std::int64_t kStepRefused = kHostIsFull - 1;

}  // namespace pleat
