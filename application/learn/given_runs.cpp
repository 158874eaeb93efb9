// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/learn/given_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "application/exchange/watch.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/median.hpp"
#include "interop/megatron_import.hpp"
#include "interop/megatron_log.hpp"
#include "interop/run_log.hpp"

namespace pleat {
namespace {

constexpr std::size_t kMostLogBytes = std::size_t{1} << 30;
constexpr std::size_t kWarmupSteps = 3;  // allocation, autotuning, the first graphs

enum class RunFileKind { plan, rows, train_log, megatron_log };

// By its first object: a plan document, a row, a step; else a log, of whom its lines say.
RunFileKind run_file_kind(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || text[begin] != '{') {
    const bool pleat = interop::read_run_log(text).writer == "pleat train";
    return pleat ? RunFileKind::train_log : RunFileKind::megatron_log;
  }
  const std::string_view line =
      std::string_view(text).substr(begin, text.find('\n', begin) - begin);
  const auto has = [&](const char* key) { return line.find(key) != std::string_view::npos; };
  if (has("\"measured\"")) return RunFileKind::rows;
  if (has("\"step\"") && has("\"seconds\"")) return RunFileKind::train_log;
  return RunFileKind::plan;
}

std::size_t warmup_of(std::size_t steps) {
  return std::min(kWarmupSteps, steps > 1 ? steps - 1 : 0);
}

// The same where the log does not print its arguments.
LoggedRun with_plan(const std::string& file, const std::optional<PlanDocument>& plan) {
  if (!plan) {
    throw_config_error(ExitCode::bad_file, file, "", "the log does not say what ran",
                       "name its plan file before it: plan.json " + file);
  }
  return {.file = file, .document = *plan};
}

LoggedRun read_train_log(const std::string& text, const std::string& file,
                         const std::optional<PlanDocument>& plan) {
  LoggedRun run = with_plan(file, plan);
  const interop::RunLog log = interop::read_run_log(text);
  if (log.steps.empty()) {
    throw_config_error(ExitCode::bad_file, file, "", "has no finished step",
                       "the output of pleat train, or its --log-json");
  }
  std::vector<double> seconds;
  for (std::size_t i = warmup_of(log.steps.size()); i < log.steps.size(); ++i)
    seconds.push_back(log.steps[i].seconds);
  run.steps = seconds.size();
  run.seconds = median(std::move(seconds));
  return run;
}

// `named`: the plan file that stands right before the log, empty where another file does. What the
// log prints of its arguments must be that plan's.
LoggedRun read_megatron_log(const std::string& text, const std::string& file,
                            const std::optional<PlanDocument>& plan, const std::string& named) {
  const interop::MegatronLog log = interop::parse_megatron_log(text);
  const interop::LogTimes times = interop::log_times(log, warmup_of(log.iterations.size()), file);
  LoggedRun run;
  if (log.arguments.empty()) {
    run = with_plan(file, plan);
  } else {
    if (!named.empty()) require_same_run(interop::read_run_log(text), *plan, file, named);
    interop::ImportedRun imported = interop::import_arguments(log.arguments, 0, file);
    for (const std::string& word : imported.ignored) note(file + ": no counterpart: " + word);
    for (const std::string& word : imported.assumed) note(file + ": assumed: " + word);
    run = {.file = file, .document = std::move(imported.document)};
    run.document.cluster.clear();  // a log does not name its GPUs
  }
  run.seconds = times.median_seconds;
  run.steps = times.used;
  return run;
}

}  // namespace

std::vector<GivenRun> read_given_runs(const std::vector<std::string>& files) {
  std::vector<GivenRun> runs;
  std::optional<PlanDocument> plan;
  std::string named;
  for (const std::string& file : files) {
    const std::string before = std::exchange(named, "");
    const std::string text = read_text_file(file, kMostLogBytes);
    switch (run_file_kind(text)) {
      case RunFileKind::plan:
        plan = read_plan_document(text, file);
        named = file;
        break;
      case RunFileKind::rows:
        for (MeasuredRun& row : read_runs(text, file)) runs.emplace_back(std::move(row));
        break;
      case RunFileKind::train_log:
        runs.emplace_back(read_train_log(text, file, plan));
        break;
      case RunFileKind::megatron_log:
        runs.emplace_back(read_megatron_log(text, file, plan, before));
        break;
    }
  }
  return runs;
}

}  // namespace pleat
