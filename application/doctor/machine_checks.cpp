// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/doctor/machine_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/spec/catalog.hpp"
#include "kernels/gpu_library.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

std::string from(const std::string& variable) {
  return variable.empty() ? "" : fmt::format(" (from {})", variable);
}

MachineCheck configurations() {
  const std::size_t models = config_names(ConfigKind::model).size();
  const std::size_t clusters = config_names(ConfigKind::cluster).size();
  const std::string folder = config_directory() + from(config_directory_variable());
  MachineCheck check{.name = "configurations", .there = models > 0 && clusters > 0, .needed = true};
  check.found = check.there
                    ? fmt::format("{} models and {} clusters in {}", models, clusters, folder)
                    : "no models or no clusters in " + folder;
  if (!check.there) {
    check.mend = config_directory_variable().empty() ? "cmake --install build --prefix PREFIX"
                                                     : "unset " + config_directory_variable();
  }
  return check;
}

// The folder, or the nearest one above it that is there, can be written to.
bool can_be_written(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  return fs::is_directory(folder, error) && access(folder.c_str(), W_OK | X_OK) == 0;
}

MachineCheck cache() {
  const std::string folder = cache_directory();
  MachineCheck check{
      .name = "cache", .there = !folder.empty() && can_be_written(folder), .needed = true};
  const std::string variable = cache_directory_variable();
  if (folder.empty()) {
    check.found = "none: profiles that `pleat calibrate` fits have no place";
  } else {
    check.found = folder + from(variable);
    if (!check.there) check.found += " cannot be written to: `pleat calibrate` and `tune` fail";
  }
  if (!check.there) check.mend = "export PLEAT_CACHE_DIR=FOLDER";
  return check;
}

MachineCheck charts() {
  const std::string file = chart_library_path();
  std::error_code error;
  MachineCheck check{.name = "charts", .there = fs::is_regular_file(file, error)};
  check.found = check.there
                    ? file
                    : fmt::format("no {}: pages (`--html`, `pleat serve`) have no charts", file);
  if (!check.there) check.mend = "./pleat.sh setup";
  return check;
}

MachineCheck gpu(const GpusHere& here) {
  MachineCheck check{.name = "GPU", .there = !here.models.empty()};
  if (!check.there) {
    check.found = here.driver.empty() ? "no driver of NVIDIA: training runs on the CPU"
                                      : fmt::format("driver {}, and no GPU", here.driver);
    return check;
  }
  std::map<std::string, int> counts;
  for (const std::string& model : here.models) ++counts[model];
  std::vector<std::string> words;
  for (const auto& [model, count] : counts) words.push_back(fmt::format("{} x {}", count, model));
  check.found = fmt::format("{}, driver {}", fmt::join(words, ", "), here.driver);
  return check;
}

MachineCheck kernels(const GpusHere& here) {
  MachineCheck check{.name = "CUDA kernels", .needed = !here.models.empty()};
  const std::string file = gpu_library_path();
  std::error_code error;
  if (!fs::exists(file, error)) {
    check.found = fmt::format("not built (no {}): `--device cuda` fails", file);
  } else {
    try {
      static_cast<void>(gpu_library());
      check.there = true;
      check.found = file;
    } catch (const ConfigError& e) {
      check.found = e.diagnostics().front().message;
    }
  }
  if (check.needed && !check.there) check.mend = "./pleat.sh setup --cuda";
  return check;
}

std::vector<std::string> clusters_with(const std::string& gpu) {
  std::vector<std::string> names;
  for (const std::string& name : config_names(ConfigKind::cluster)) {
    if (load_cluster(name).gpu.name == gpu) names.push_back(name);
  }
  return names;
}

std::string profile_words(const std::optional<FoundProfile>& found, const char* runtime) {
  return found ? fmt::format("{} for {}", found->profile.name, runtime)
               : fmt::format("none for {}", runtime);
}

// The profile that plans for clusters of this GPU use, and that of Pleat's own trainer.
MachineCheck profile_of(const std::string& model) {
  MachineCheck check{.name = "profile"};
  const std::string gpu = shipped_gpu(model, config_names(ConfigKind::gpu));
  const std::vector<std::string> clusters =
      gpu.empty() ? std::vector<std::string>() : clusters_with(gpu);
  if (clusters.empty()) {
    check.found = fmt::format("no cluster that ships has a {}", model);
    check.mend = "pleat calibrate --device cuda --cluster MY-CLUSTER.json";
    return check;
  }
  const std::string& cluster = clusters.front();
  const auto megatron = find_usual_profile(cluster, Runtime::megatron);
  const auto own = find_usual_profile(cluster, Runtime::pleat);
  check.there = megatron.has_value();
  check.found = fmt::format("cluster {}: {}, {}", cluster, profile_words(megatron, "megatron"),
                            profile_words(own, "pleat"));
  if (!own) check.mend = "pleat calibrate --device cuda --cluster " + cluster;
  return check;
}

MachineCheck profile_of_cpu() {
  const auto found = find_newest_profile("localhost", Runtime::pleat);
  MachineCheck check{.name = "profile of the CPU", .there = found.has_value()};
  check.found =
      found ? found->path : "not measured: predictions for localhost are of datasheet class";
  if (!found) check.mend = "pleat calibrate";
  return check;
}

MachineCheck program(const std::string& name, const std::string& command,
                     const std::string& serves) {
  const std::string file = program_in_path(command);
  return {.name = name,
          .there = !file.empty(),
          .found = file.empty() ? fmt::format("no {} in PATH: {}", command, serves) : file,
          .mend = ""};
}

}  // namespace

std::vector<MachineCheck> machine_checks(const GpusHere& here) {
  std::vector<MachineCheck> checks{configurations(), cache(), charts(), gpu(here), kernels(here)};
  std::vector<std::string> models = here.models;
  models.erase(std::unique(models.begin(), models.end()), models.end());
  const bool can_read = checks.front().there;  // profiles need the configurations
  for (const std::string& model : models) {
    if (can_read) checks.push_back(profile_of(model));
  }
  if (can_read) checks.push_back(profile_of_cpu());
  checks.push_back(program("nvcc", "nvcc", "the CUDA kernels cannot be built here"));
  checks.push_back(program("MPI", "mpirun", "`pleat train` starts processes over TCP only"));
  checks.push_back(program("Slurm", "sbatch", "`pleat launch --run` and `tune --on slurm` fail"));
  return checks;
}

bool is_well(const std::vector<MachineCheck>& checks) {
  return std::ranges::all_of(checks, [](const MachineCheck& c) { return c.there || !c.needed; });
}

}  // namespace pleat
