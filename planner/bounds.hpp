// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Admissible bounds: no estimate of the plan can be faster or smaller. Both come from the prices of
// its layers; what they leave out (transfers between stages, gradient reduction, optimizer, runtime
// buffers) only adds.
#pragma once

#include "planner/layer_price_table.hpp"

namespace pleat {

struct PlanBounds {
  Seconds step;
  std::int64_t peak_bytes = 0;  // of the largest stage
};

// time: stage s cannot start before the forward passes of chunk 0 on the stages before it, then has
// all its own work to do, and afterwards the backward passes of chunk 0 on those stages follow:
//   step >= max_s ( m * work_s + sum_{i<s} (f_i0 + b_i0) )
// Under expert-parallel overlap the experts' exchange and host time do not count: they may be
// hidden. memory: weights, gradients and optimizer state of the stage, and what the forward passes
// before its first backward pass leave behind. Prices without recompute bound the time of every
// recompute choice, for recompute only adds work; `activations` is false then, for it also frees
// memory.
[[nodiscard]] PlanBounds bounds(const Plan&, const ModelSpec&, const WorkloadSpec&,
                                const LayerPrices&, bool activations);

}  // namespace pleat
