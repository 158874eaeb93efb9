// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices and bounds that several searches of one problem share. They do not depend on what a search
// is limited to (memory, time, number of plans), so each is computed once.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/plan/numerics.hpp"
#include "planner/bounds/bounds.hpp"
#include "planner/problem.hpp"

namespace pleat {

// Made for one set of number formats; correct for others, too, but not shared with theirs. The
// problem must outlive it. Safe to use from several threads.
struct PlanPrices {
  PlanPrices(const Problem& p, Runtime runtime)
      : estimator(p.model, p.workload, p.cluster, p.profile, runtime),
        bounds(estimator, p, runtime) {}
  // What is asked of these prices, such as many layouts, goes with them; but they share programs
  // and prices of layers with the others.
  PlanPrices(const Problem& p, Runtime runtime, const PlanPrices& others)
      : estimator(Estimator::with_layers_of(others.estimator)), bounds(estimator, p, runtime) {}

  Estimator estimator;
  BoundTable bounds;
};

// The prices for each set of number formats. For one problem, runtime and number of GPUs. Searches
// that share them come one after the other, whatever they pin.
class KnownPrices {
 public:
  // `problem` must be the same at each call, and outlive this. Several threads may ask at once.
  PlanPrices& of(const Numerics& numerics, const Problem& problem, Runtime runtime) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [formats, prices] : of_) {
      if (formats == numerics) return *prices;
    }
    of_.emplace_back(numerics, std::make_unique<PlanPrices>(problem, runtime));
    return *of_.back().second;
  }

  void forget_programs() {
    const std::scoped_lock lock(mutex_);
    for (const auto& [formats, prices] : of_) prices->estimator.forget_programs();
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<Numerics, std::unique_ptr<PlanPrices>>> of_;
};

}  // namespace pleat
