// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What searches of one job know of its plans: prices and bounds, worked out once. They say nothing of
// what a search is limited to (memory, time, how many plans), so that the next one can go on with them.
#pragma once

#include <map>
#include <memory>

#include "planner/bounds/bounds.hpp"

namespace pleat {

// Of plans with the same number formats. The references must outlive it; threads may share it.
struct PlanPrices {
  PlanPrices(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
             const Profile& profile, Runtime runtime)
      : estimator(model, workload, cluster, profile, runtime),
        bounds(estimator, model, workload, cluster, profile, runtime) {}

  Estimator estimator;
  BoundTable bounds;
};

// By the place of the number formats in SearchConfig::numerics. For searches that differ in `top`,
// `not_above`, `most_bytes`, `robust`, limits, threads and progress alone, one after the other.
class KnownPrices {
 public:
  // The same references each time.
  PlanPrices& of(std::size_t numerics, const ModelSpec& model, const ClusterSpec& cluster,
                 const WorkloadSpec& workload, const Profile& profile, Runtime runtime) {
    auto& known = of_[numerics];
    if (!known) {
      known = std::make_unique<PlanPrices>(model, cluster, workload, profile, runtime);
    }
    return *known;
  }

 private:
  std::map<std::size_t, std::unique_ptr<PlanPrices>> of_;
};

}  // namespace pleat
