// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices and bounds that several searches of one problem share. They do not depend on what a search
// is limited to (memory, time, number of plans), so each is computed once.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/plan/numerics.hpp"
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

// The prices for each set of number formats. For searches one after the other whose configs differ
// at most in `top`, `not_above`, `most_bytes`, `robust`, limits, threads and progress.
class KnownPrices {
 public:
  // `problem` must be the same at each call.
  PlanPrices& of(const Numerics& numerics, const Problem& problem, Runtime runtime) {
    for (const auto& [formats, prices] : of_) {
      if (formats == numerics) return *prices;
    }
    of_.emplace_back(numerics, std::make_unique<PlanPrices>(problem, runtime));
    return *of_.back().second;
  }

 private:
  std::vector<std::pair<Numerics, std::unique_ptr<PlanPrices>>> of_;
};

}  // namespace pleat
