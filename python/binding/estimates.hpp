// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Many plans of one model, workload and cluster, priced at the speed of the search.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "application/target.hpp"
#include "simulator/estimator.hpp"

namespace pleat::python {

// By plan; NaN and 0 where a plan breaks a rule, which `problems` tells by the plan's number.
struct Estimates {
  std::vector<double> step, low, high;                 // seconds
  std::vector<double> tokens_per_second_per_gpu, mfu, mfu_of_precision;
  std::vector<std::int64_t> peak_bytes;                // of the fullest rank
  std::vector<std::uint8_t> fits;
  std::vector<std::pair<std::int64_t, std::string>> problems;
};

class PlanEstimator {
 public:
  // Arguments of a target. ConfigError and TypeError as in given.hpp.
  explicit PlanEstimator(const nanobind::dict& target);

  // Each plan a dictionary of its arguments. Ctrl-C ends it between plans.
  [[nodiscard]] Estimates estimate(const nanobind::sequence& plans) const;
  [[nodiscard]] const std::vector<std::string>& assumed() const { return target_.assumed; }

 private:
  Target target_;
  Estimator estimator_;
};

}  // namespace pleat::python
