// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs that were given, made ready to be priced again and again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/learn/given_runs.hpp"
#include "calibration/learn/learn.hpp"
#include "core/spec/cluster.hpp"
#include "validation/predict_run.hpp"

namespace pleat {

// A row with the plan that it was predicted with. The profile's constants of its era count.
[[nodiscard]] RunToLearn run_to_learn(const MeasuredRun&, const RunRequest&, const Plan&,
                                      double measured_seconds);

// A log of a plan whose rules are checked.
[[nodiscard]] RunToLearn run_to_learn(const LoggedRun&, const ClusterSpec&);

struct RunsOfCluster {
  ClusterSpec cluster;
  Profile profile;           // to begin with
  std::string profile_path;  // its file; empty: round numbers, no file
  std::vector<RunToLearn> runs;
  std::vector<std::string> left_out;  // "runs.jsonl:3: why"
};

// `cluster` and `profile` as on the command line; empty: as the runs say, and the usual one.
// ConfigError for runs of several clusters or runtimes, and where no run names a cluster.
[[nodiscard]] RunsOfCluster runs_of_cluster(const std::vector<GivenRun>&,
                                            const std::string& cluster, const std::string& profile);

}  // namespace pleat
