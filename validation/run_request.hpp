// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A published run as something to predict, with the software era of the profile that it belongs to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"
#include "validation/measured_run.hpp"

namespace pleat {

// A published run as something to predict: model, cluster, profile, workload and plan, with what
// the row leaves open.

// Settings that the row does not state and that have no default: the best under the model is taken.
struct OpenChoices {
  bool tp = false, pp = false, ep = false, vpp = false, recompute = false, sharding = false;
  bool offload = false;  // of whole layers
  bool operator==(const OpenChoices&) const = default;
};

struct RunRequest {
  ModelSpec model;
  const ClusterSpec* cluster = nullptr;
  const Profile* profile = nullptr;
  WorkloadSpec workload;
  Plan plan;  // data-parallel sizes filled in where the other degrees are known
  int gpus = 1;
  bool etp_open = false;  // ETP is not stated: it equals TP if that grid fits, else it is 1
  OpenChoices open;
  std::vector<std::string> notes;  // what the prediction leaves out
};

struct PreparedRun {
  std::optional<RunRequest> request;
  std::string reason;  // why there is none
};

// What predictions know of a cluster: all that its profile has; its kernels' tables and no run, as
// of a cluster that is new; its datasheet.
enum class Knowledge { all, tables, datasheet };

// The profile with round numbers for all that was fitted to runs: clocks, overlap, host times,
// rates of kernels that are bound by memory. No eras.
[[nodiscard]] Profile without_runs(const Profile&);

// Models, clusters and profiles by name, loaded once each.
class RunCatalog {
 public:
  // Profiles of `profile_files` stand in for the shipped ones of the same cluster and runtime.
  explicit RunCatalog(const std::vector<std::string>& profile_files);
  // The same with a profile that is there, and the cluster that it is of.
  RunCatalog(Profile, ClusterSpec);

  [[nodiscard]] PreparedRun prepare(const MeasuredRun&);

  // What runs on that cluster are predicted with, before an era's constants.
  [[nodiscard]] const Profile& profile_of_cluster(const std::string& name) {
    return profile(cluster(name));
  }

  // Before the first run is prepared.
  void know_only(Knowledge k) { knowledge_ = k; }

 private:
  const ModelSpec& model(const MeasuredRun&);
  const ClusterSpec& cluster(const std::string& name);
  const Profile& profile(const ClusterSpec&);  // without an era's constants
  const Profile& profile(const ClusterSpec&, const MeasuredRun&);  // with them

  std::vector<Profile> given_;
  Knowledge knowledge_ = Knowledge::all;
  std::map<std::string, ModelSpec> models_;
  std::map<std::string, ClusterSpec> clusters_;
  std::map<std::string, Profile> profiles_;
};

// DP and EDP that use all of `gpus`; at least 1 (the rules say what does not divide).
void fill_data_parallel(RunRequest&, Plan&);

// Months of a release "nemo-25.11", "nemo-26.02.01", a commit's date "main-2026-07" or an arXiv
// number "… (2504.14960)", counted from 2000; nothing for other words.
[[nodiscard]] std::optional<int> month_of_era(const std::string& era);

// The profile with the constants of the run's era: the era of that name, else the last one before
// it, else none, and the profile is unchanged.
[[nodiscard]] Profile profile_of_era(const Profile&, const std::string& era);

}  // namespace pleat
