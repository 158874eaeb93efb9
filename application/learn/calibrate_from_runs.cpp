// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/learn/calibrate_from_runs.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>

#include "application/learn/learn_report.hpp"
#include "application/learn/runs_to_learn.hpp"
#include "console/output.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

std::string learned_name(const std::string& file, const Profile& profile) {
  return file.empty() ? profile.name + "-learned" : fs::path(file).stem().string();
}

std::string provenance_of(const RunsOfCluster& r) {
  std::set<std::string> files;
  for (const RunToLearn& run : r.runs) files.insert(fs::path(run.file).filename().string());
  return fmt::format(
      "{}: clocks, rates of memory and exchanges, host times learned from {} of {} "
      "({}) by pleat calibrate --from-runs. {}",
      r.profile.name, runs_text(r.runs.size()), r.cluster.name, fmt::join(files, ", "),
      r.profile.provenance);
}

// A table of the profile to begin with, to stand beside the new one.
struct TableCopy {
  std::string from, file;
};

// Tables lie beside a profile and are named for it.
std::vector<TableCopy> move_tables(const std::string& from, const std::string& to,
                                   Profile& profile) {
  std::vector<TableCopy> copies;
  const fs::path file(to);
  const auto move = [&](std::string& table) {
    if (table.empty()) return;
    const std::string name = file.stem().string() + "-" + fs::path(table).filename().string();
    copies.push_back(
        {(fs::path(from).parent_path() / table).string(), (file.parent_path() / name).string()});
    table = name;
  };
  for (GemmLaw& law : profile.gemm.by_math) move(law.table);
  move(profile.collective_table);
  return copies;
}

}  // namespace

void calibrate_from_runs(const FromRunsOptions& o) {
  check_output(o.output);
  const RunsOfCluster r = runs_of_cluster(read_given_runs(o.files), o.cluster, o.profile);
  for (const std::string& why : r.left_out) note("left out: " + why);
  Profile profile = learn_from_runs(r.profile, r.runs);
  profile.name = learned_name(o.output.file, r.profile);
  profile.provenance = provenance_of(r);
  profile.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  const LearnedBands bands = learned_bands(r.runs, r.profile, profile);
  if (!o.output.file.empty()) {
    const std::vector<TableCopy> copies = move_tables(r.profile_path, o.output.file, profile);
    for (const TableCopy& copy : copies) check_output(o.output, copy.file);
    for (const TableCopy& copy : copies) {
      write_output(o.output, copy.file, read_text_file(copy.from));
    }
    write_output(o.output, o.output.file, write_profile(profile));
  } else {
    note("the profile is not kept: -o FILE writes it");
  }
  print(o.json ? write_profile(profile) : learn_text(profile, bands));
}

}  // namespace pleat
