// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is trained per step.
#pragma once

#include <cstdint>

namespace pleat {

enum class Routing { forced, natural };  // forced: every expert gets the same number of tokens

struct WorkloadSpec {
  std::int64_t seq_len = 4096;
  std::int64_t global_batch = 1;  // sequences per step
  Routing routing = Routing::forced;
  double capacity_factor = 0;  // tokens an expert takes over the balanced mean; 0: none dropped
  bool pad_to_capacity = false;
  double imbalance = 1.0;  // slowest rank's routed tokens over the mean, for natural routing
  // Expected slow-down of the slowest rank over the mean, 0.02: 2%; every synchronous step waits.
  double straggler_slowdown = 0;
  bool operator==(const WorkloadSpec&) const = default;
};

}  // namespace pleat
