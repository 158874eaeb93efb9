// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The inputs of a prediction that nobody knows exactly. Each is tried 20% lower and 20% higher.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/problem.hpp"

namespace pleat {

inline constexpr double kSwing = 0.2;

struct StepInput {
  std::string name;  // "nvlink bandwidth"
  std::function<void(Problem&, double factor)> scale;
  bool takes_time = true;  // false: it decides what fits, not how long a step takes
  bool is_load = false;    // of the busiest rank of experts
};

// The bandwidth of every network tier (with the rates measured over it), the bandwidth and the size
// of device memory, the rate of matrix products, the host's time to launch kernels and, for models
// with experts, the imbalance of their load. For the last, routing becomes natural and the busiest
// rank has at least the mean.
[[nodiscard]] std::vector<StepInput> step_inputs(const ModelSpec&, const ClusterSpec&);

}  // namespace pleat
