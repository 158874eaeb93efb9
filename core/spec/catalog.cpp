// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/catalog.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/borrowed_profile.hpp"
#include "core/spec/gpu_reader.hpp"
#include "core/spec/typical_model.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

struct Folder {
  const char* name;
  const char* noun;
};

Folder folder_of(ConfigKind kind) {
  switch (kind) {
    case ConfigKind::model:
      return {"models", "model"};
    case ConfigKind::gpu:
      return {"gpus", "gpu"};
    case ConfigKind::cluster:
      return {"clusters", "cluster"};
    case ConfigKind::profile:
      return {"profiles", "profile"};
  }
  return {"", ""};
}

// Later directories win: a profile fitted here replaces a shipped one of the same name.
std::vector<fs::path> directories_of(ConfigKind kind) {
  std::vector<fs::path> directories{fs::path(config_directory()) / folder_of(kind).name};
  const std::string cache = cache_directory();
  if (kind == ConfigKind::profile && !cache.empty())
    directories.push_back(fs::path(cache) / "profiles");
  return directories;
}

// More names than this are not listed in an error.
constexpr std::size_t kListed = 20;

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".json");
}

// "Llama-3.1-405B" and "llama3.1-405b" are the same name.
std::string plain(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.') continue;
    letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

// The file of `name` in one of the directories, nothing if there is none.
std::string find_file(const std::vector<fs::path>& directories, const std::string& name) {
  for (const fs::path& directory : directories) {
    const fs::path file = directory / (name + ".json");
    std::error_code error;
    if (!name.empty() && fs::exists(file, error)) return file.string();
  }
  return {};
}

}  // namespace

std::vector<std::string> config_names(ConfigKind kind) {
  std::vector<std::string> names;
  for (const fs::path& directory : directories_of(kind)) {
    std::error_code error;  // a directory that does not exist has no names
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string config_path(ConfigKind kind, const std::string& name_or_path) {
  if (is_path(name_or_path)) return name_or_path;
  std::vector<fs::path> directories = directories_of(kind);
  std::reverse(directories.begin(), directories.end());
  if (const std::string file = find_file(directories, name_or_path); !file.empty()) return file;
  const std::vector<std::string> names = config_names(kind);
  for (const std::string& name : names) {
    if (!name_or_path.empty() && plain(name) == plain(name_or_path))
      return find_file(directories, name);
  }
  std::vector<std::string> begin_so;  // "H100": h100-sxm, where no other name begins like that
  for (const std::string& name : names) {
    if (!name_or_path.empty() && plain(name).starts_with(plain(name_or_path)))
      begin_so.push_back(name);
  }
  if (begin_so.size() == 1) return find_file(directories, begin_so.front());
  const std::string near = nearest_name(name_or_path, names);
  const char* noun = folder_of(kind).noun;
  std::string choices = fmt::format("there are: {}", fmt::join(names, ", "));
  if (begin_so.size() > 1 && begin_so.size() <= kListed) {
    choices = fmt::format("so begin: {}", fmt::join(begin_so, ", "));
  } else if (names.empty()) {
    choices = fmt::format("none in {}", directories.back().string());
  } else if (names.size() > kListed) {
    choices = fmt::format("`pleat {}` lists the {} there are", folder_of(kind).name, names.size());
  }
  throw_config_error(
      ExitCode::bad_request, fmt::format("--{}", noun), "",
      fmt::format("no {} named \"{}\"{}", noun, name_or_path,
                  near.empty() ? "" : fmt::format("; did you mean {}?", near)),
      choices + ", or the path of a .json file");
}

HfImport load_model(const std::string& name_or_path) {
  if (const auto typical = typical_model(name_or_path)) {
    HfImport import = read_hf_config(typical->config, name_or_path, name_or_path);
    import.assumptions.insert(import.assumptions.begin(),
                              "a typical model of that size: " + typical->summary);
    return import;
  }
  const fs::path path = config_path(ConfigKind::model, name_or_path);
  std::string name = path.stem().string();
  if (name == "config" && path.has_parent_path()) {  // a Hugging Face folder: Qwen3-30B/config.json
    name = fs::absolute(path).lexically_normal().parent_path().filename().string();
  }
  return read_hf_config(read_text_file(path.string()), path.string(), name);
}

GpuSpec load_gpu(const std::string& name_or_path) {
  const std::string path = config_path(ConfigKind::gpu, name_or_path);
  return read_gpu(read_text_file(path), path);
}

ClusterSpec load_cluster(const std::string& name_or_path) {
  const std::string path = config_path(ConfigKind::cluster, name_or_path);
  return read_cluster(read_text_file(path), path);
}

Profile load_profile(const std::string& name_or_path) {
  const std::string path = config_path(ConfigKind::profile, name_or_path);
  Profile profile = read_profile(read_text_file(path), path);
  load_tables(profile, path);
  return profile;
}

std::optional<FoundProfile> find_newest_profile(const std::string& cluster, Runtime runtime) {
  std::optional<FoundProfile> newest;
  for (const std::string& name : config_names(ConfigKind::profile)) {
    const std::string path = config_path(ConfigKind::profile, name);
    FoundProfile found{path, read_profile(read_text_file(path), path)};
    if (found.profile.cluster != cluster || found.profile.runtime != runtime) continue;
    if (!newest || found.profile.created >= newest->profile.created) newest = std::move(found);
  }
  if (newest) load_tables(newest->profile, newest->path);
  return newest;
}

namespace {

std::optional<FoundProfile> find_profile_of_gpu(const ClusterSpec& cluster, Runtime runtime) {
  std::optional<FoundProfile> newest;
  for (const std::string& name : config_names(ConfigKind::profile)) {
    const std::string path = config_path(ConfigKind::profile, name);
    Profile profile = read_profile(read_text_file(path), path);
    if (profile.runtime != runtime) continue;
    if (newest && profile.created < newest->profile.created) continue;
    load_tables(profile, path);
    if (auto borrowed = profile_on(std::move(profile), cluster))
      newest = FoundProfile{path, std::move(*borrowed)};
  }
  return newest;
}

}  // namespace

std::optional<FoundProfile> find_usual_profile(const std::string& cluster_name_or_path,
                                               Runtime runtime) {
  const ClusterSpec spec = load_cluster(cluster_name_or_path);
  const std::string& cluster = spec.name;
  const fs::path folder =
      fs::path(config_path(ConfigKind::cluster, cluster_name_or_path)).parent_path();
  const char* suffix = runtime == Runtime::megatron ? "-megatron.json" : "-pleat.json";
  const std::string path = (folder / (cluster + suffix)).string();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    FoundProfile found{path, read_profile(read_text_file(path), path)};
    if (found.profile.cluster == cluster && found.profile.runtime == runtime) {
      load_tables(found.profile, path);
      return found;
    }
  }
  if (auto newest = find_newest_profile(cluster, runtime)) return newest;
  return find_profile_of_gpu(spec, runtime);
}

std::optional<Profile> profile_on(Profile profile, const ClusterSpec& cluster) {
  if (profile.cluster == cluster.name) return profile;
  const std::vector<std::string> shipped = config_names(ConfigKind::cluster);
  if (std::ranges::find(shipped, profile.cluster) == shipped.end()) return std::nullopt;
  const ClusterSpec measured = load_cluster(profile.cluster);
  if (!has_gpu_of(cluster, measured)) return std::nullopt;
  return borrow_profile(std::move(profile), measured, cluster);
}

std::string fitted_profile_path(const std::string& name) {
  const std::string cache = cache_directory();
  const fs::path base = cache.empty() ? fs::path(config_directory()) : fs::path(cache);
  return (base / "profiles" / (name + ".json")).string();
}

}  // namespace pleat
