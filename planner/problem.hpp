// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a plan is for: a model, the cluster that it trains on, the batch of a step, and what is
// known of how long things take there.
#pragma once

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

struct Problem {
  ModelSpec model;
  ClusterSpec cluster;
  WorkloadSpec workload;
  Profile profile;
};

}  // namespace pleat
