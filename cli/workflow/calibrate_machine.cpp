// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/calibrate_machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>

#include "cli/report/output.hpp"
#include "cli/report/write_file.hpp"
#include "core/json/parse.hpp"
#include "core/spec/catalog.hpp"

namespace pleat::cli {
namespace {

std::string samples_file(const std::string& profile_file) {
  std::filesystem::path path(profile_file);
  return path.replace_extension(".samples").string();  // no .json: a folder of profiles is listed
}

std::string now_text() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace

CalibrationResult calibrate_to(const ClusterSpec& cluster, int ranks, const std::string& profile_file) {
  require_writable(profile_file);
  CalibrateConfig config;
  config.ranks = ranks;
  config.created = now_text();
  config.on_progress = [](const std::string& family) { progress("measuring " + family); };
  CalibrationResult result = calibrate(cluster, config);
  progress("");
  write_file(profile_file, write_profile(result.profile));
  write_file(samples_file(profile_file), samples_json(result));
  return result;
}

void calibrate_machine(const CalibrateOptions& o) {
  const ClusterSpec cluster = load_cluster(o.cluster);
  std::string file = o.out_file;
  if (file.empty()) {
    file = fitted_profile_path(cluster.name + "-pleat");
    make_folder(std::filesystem::path(file).parent_path().string());
  }
  const CalibrationResult result = calibrate_to(cluster, o.ranks, file);
  note("wrote " + file + " and " + samples_file(file));
  print(o.json ? write_profile(result.profile) : print_residuals(result));
}

}  // namespace pleat::cli
