// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/validate_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "application/learn/judge_learning.hpp"
#include "cli/report/validation/validation_report.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "validation/measured_run.hpp"

namespace pleat::cli {
namespace {

namespace fs = std::filesystem;

std::vector<MeasuredRun> read_all(const ValidateOptions& o) {
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

std::vector<std::string> profile_files(const ValidateOptions& o) {
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

void validate(const ValidateOptions& o) {
  check_outputs({o.html_file, o.out_file}, o.force);
  const auto start = std::chrono::steady_clock::now();
  std::vector<MeasuredRun> runs = read_all(o);
  keep_tiers(o.tiers, runs);
  RunCatalog catalog(profile_files(o));
  catalog.know_only(knowledge_of(o.know));
  const std::vector<ComparedRun> rows = compare_runs(runs, catalog, o.threads);
  if (o.learn > 0) {
    const JudgeOptions judge{.given = o.learn, .draws = o.draws, .threads = o.threads};
    const Judgement judgement = judge_learning(rows, catalog, judge);
    print(o.json ? judgement_json(judgement).dump() + "\n" : judgement_text(judgement, judge));
    return;
  }
  Summary s = summarise_runs(rows);
  if (o.recipes) s.recipes = place_recipes(of_tier("A", rows), catalog, o.threads);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  note(fmt::format("{} rows in {:.2f} s", rows.size(), took.count()));
  if (!o.html_file.empty()) write_page(o.html_file, validation_page(rows, s));
  if (!o.out_file.empty()) {
    write_and_say(o.out_file, validation_markdown(rows, s));
  }
  print(o.json ? validation_json(rows, s) : validation_text(rows, s, terminal()));
}

}  // namespace pleat::cli
