// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/validate/published_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "validation/measured_run.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

std::vector<MeasuredRun> read_all(const ValidateQuestion& o) {
  const std::vector<std::string> files = o.rows.empty() ? shipped_run_files() : o.rows;
  if (files.empty()) {
    throw_config_error(ExitCode::bad_request, "--rows", "", "no rows ship with this installation",
                       "name a file of rows");
  }
  std::vector<MeasuredRun> runs;
  for (const std::string& file : files) {
    for (MeasuredRun& run : read_runs(read_text_file(file), file)) runs.push_back(std::move(run));
  }
  return runs;
}

void keep_tiers(const std::vector<std::string>& tiers, std::vector<MeasuredRun>& runs) {
  if (tiers.empty()) return;
  std::set<std::string> there;
  for (const MeasuredRun& run : runs) there.insert(run.tier);
  for (const std::string& tier : tiers) {
    if (there.contains(tier)) continue;
    throw_config_error(ExitCode::bad_request, "--tier", "", "no row has tier '" + tier + "'",
                       fmt::format("there are: {}", fmt::join(there, ", ")));
  }
  std::erase_if(runs, [&](const MeasuredRun& run) {
    return std::find(tiers.begin(), tiers.end(), run.tier) == tiers.end();
  });
}

std::vector<std::string> profile_files(const ValidateQuestion& o) {
  std::vector<std::string> files = o.profiles;
  if (o.profile_folder.empty()) return files;
  if (!fs::is_directory(o.profile_folder)) {
    throw_config_error(ExitCode::device_or_io, "--profile-dir", "",
                       o.profile_folder + " is no folder");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(o.profile_folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<ComparedRun> of_tier(const std::string& tier, std::vector<ComparedRun> rows) {
  std::erase_if(rows, [&](const ComparedRun& row) { return row.run.tier != tier; });
  return rows;
}

Knowledge knowledge_of(const std::string& word) {
  if (word == "tables") return Knowledge::tables;
  return word == "datasheet" ? Knowledge::datasheet : Knowledge::all;
}

}  // namespace

RunCatalog run_catalog(const ValidateQuestion& q) {
  RunCatalog catalog(profile_files(q));
  catalog.know_only(knowledge_of(q.know));
  return catalog;
}

std::vector<ComparedRun> compare_published_runs(const ValidateQuestion& q, RunCatalog& catalog) {
  std::vector<MeasuredRun> runs = read_all(q);
  keep_tiers(q.tiers, runs);
  return compare_runs(runs, catalog, q.threads);
}

Summary summarise_published_runs(const ValidateQuestion& q, const std::vector<ComparedRun>& rows,
                                 RunCatalog& catalog) {
  Summary s = summarise_runs(rows);
  if (q.recipes) s.recipes = place_recipes(of_tier("A", rows), catalog, q.threads);
  return s;
}

}  // namespace pleat
