// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The inputs of a predicted step that nobody knows exactly, each to be tried a fifth lower and
// higher.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

inline constexpr double kSwing = 0.2;

// What a step is predicted from beside model and plan.
struct StepGround {
  ClusterSpec cluster;
  WorkloadSpec workload;
  Profile profile;
};

struct StepInput {
  std::string name;  // "nvlink bandwidth"
  std::function<void(StepGround&, double factor)> scale;
  bool takes_time = true;  // false: it decides what fits, not how long a step takes
};

// Bandwidth of every tier with what was measured over it, the device memory's bandwidth and size,
// the rate of matrix products, the host's time to launch kernels and, of a model with experts,
// their imbalance: routing is then natural, and the slowest rank has at least the mean.
[[nodiscard]] std::vector<StepInput> step_inputs(const ModelSpec&, const ClusterSpec&);

}  // namespace pleat
