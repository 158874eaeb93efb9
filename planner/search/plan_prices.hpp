// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices and bounds that several searches of one problem share. They do not depend on what a search
// is limited to (memory, time, number of plans), so each is computed once.
#pragma once

#include <map>
#include <memory>

#include "planner/bounds/bounds.hpp"
#include "planner/problem.hpp"

namespace pleat {

// For plans with the same number formats. The problem must outlive it. Safe to use from several
// threads.
struct PlanPrices {
  PlanPrices(const Problem& p, Runtime runtime)
      : estimator(p.model, p.workload, p.cluster, p.profile, runtime),
        bounds(estimator, p, runtime) {}

  Estimator estimator;
  BoundTable bounds;
};

// The prices for each entry of SearchConfig::numerics. For searches one after the other whose
// configs differ at most in `top`, `not_above`, `most_bytes`, `robust`, limits, threads and
// progress.
class KnownPrices {
 public:
  // `problem` must be the same at each call.
  PlanPrices& of(std::size_t numerics, const Problem& problem, Runtime runtime) {
    auto& known = of_[numerics];
    if (!known) known = std::make_unique<PlanPrices>(problem, runtime);
    return *known;
  }

 private:
  std::map<std::size_t, std::unique_ptr<PlanPrices>> of_;
};

}  // namespace pleat
