// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words of a capacity question, checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/request.hpp"
#include "application/capacity/capacity.hpp"
#include "planner/capacity/offers.hpp"
#include "planner/capacity/sizes.hpp"

namespace pleat::cli {

// One cluster of the question.
struct CapacitySite {
  Target target;  // its gpus and global batch are set for each size
  Precision precision = Precision::bf16;
  Rates rates{RateSet{}};
  std::vector<int> sizes;
};

struct CapacityRequest {
  double tokens = 0;
  Goal goal;
  std::optional<double> critical_batch;  // tokens
  std::vector<CapacitySite> sites;
  int largest_asked = 0;                 // GPUs; 0: sizes were listed one by one
  std::vector<std::string> assumed;
};

// ConfigError names every wrong option (bad_request) or the wrong fields of a rates file.
[[nodiscard]] CapacityRequest read_capacity_request(const CapacityOptions&);

}  // namespace pleat::cli
