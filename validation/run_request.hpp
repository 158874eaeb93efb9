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

// Models, clusters and profiles by name, loaded once each.
class RunCatalog {
 public:
  // Profiles of `profile_files` stand in for the shipped ones of the same cluster and runtime.
  explicit RunCatalog(const std::vector<std::string>& profile_files);

  [[nodiscard]] PreparedRun prepare(const MeasuredRun&);

 private:
  const ModelSpec& model(const MeasuredRun&);
  const ClusterSpec& cluster(const std::string& name);
  const Profile& profile(const ClusterSpec&);  // without an era's constants
  const Profile& profile(const ClusterSpec&, const std::string& era);

  std::vector<Profile> given_;
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
