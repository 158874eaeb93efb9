// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What searches of one job know of its plans: prices and bounds, worked out once. They say nothing of
// what a search is limited to (memory, time, how many plans), so that the next one can go on with them.
#pragma once

#include <map>
#include <memory>

#include "planner/bounds/bounds.hpp"
#include "planner/problem.hpp"

namespace pleat {

// Of plans with the same number formats. The references must outlive it; threads may share it.
struct PlanPrices {
  PlanPrices(const Problem& p, Runtime runtime)
      : estimator(p.model, p.workload, p.cluster, p.profile, runtime),
        bounds(estimator, p, runtime) {}

  Estimator estimator;
  BoundTable bounds;
};

// By the place of the number formats in SearchConfig::numerics. For searches that differ in `top`,
// `not_above`, `most_bytes`, `robust`, limits, threads and progress alone, one after the other.
class KnownPrices {
 public:
  // The same problem each time.
  PlanPrices& of(std::size_t numerics, const Problem& problem, Runtime runtime) {
    auto& known = of_[numerics];
    if (!known) known = std::make_unique<PlanPrices>(problem, runtime);
    return *known;
  }

 private:
  std::map<std::size_t, std::unique_ptr<PlanPrices>> of_;
};

}  // namespace pleat
