// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Configs by name ("deepseek-v3") or by file path ("my/config.json"): what has a slash or ends in
// .json is a path. An unknown name is a ConfigError with exit code bad_request and the names there
// are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

enum class ConfigKind { model, gpu, cluster, profile };

// Sorted names of one kind: of the configs directory, for profiles also of the cache directory.
[[nodiscard]] std::vector<std::string> config_names(ConfigKind);

// The file behind a name or path.
[[nodiscard]] std::string config_path(ConfigKind, const std::string& name_or_path);

// "400B-A20B" is a typical model of that size (typical_model.hpp).
[[nodiscard]] HfImport load_model(const std::string& name_or_path);
[[nodiscard]] GpuSpec load_gpu(const std::string& name_or_path);
[[nodiscard]] ClusterSpec load_cluster(const std::string& name_or_path);
[[nodiscard]] Profile load_profile(const std::string& name_or_path);

struct FoundProfile {
  std::string path;
  Profile profile;
};
// The newest profile (by its `created` date; then by name) of that cluster and runtime.
[[nodiscard]] std::optional<FoundProfile> find_newest_profile(const std::string& cluster, Runtime);

// A cluster's usual profile: of a file of one's own the one beside it, NAME-RUNTIME.json (as `pleat
// import nccl-tests` writes it), if it describes that cluster and runtime; else the newest; else
// the newest of a cluster with the same GPU (borrowed_profile.hpp).
[[nodiscard]] std::optional<FoundProfile> find_usual_profile(
    const std::string& cluster_name_or_path, Runtime);

// A profile as one of this cluster: as it is if it describes it, borrowed if it describes a shipped
// cluster with the same GPU, else none.
[[nodiscard]] std::optional<Profile> profile_on(Profile, const ClusterSpec&);

// Where a profile fitted on this machine belongs; found by name and by find_newest_profile.
[[nodiscard]] std::string fitted_profile_path(const std::string& name);

}  // namespace pleat
