// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/backend/run_commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <utility>

#include "application/request/ineffective_options.hpp"
#include "application/request/request.hpp"
#include "application/tune/replay.hpp"
#include "application/tune/tune.hpp"
#include "application/tune/tune_trials.hpp"
#include "cli/commands/find_plan.hpp"
#include "cli/options/duration.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

constexpr std::int64_t kMostHere = 65'536;  // tokens of a sequence, sequences of a step

TuneOptions with_target(TuneOptions o, const TargetOptions& target) {
  if (!target.model.empty()) o.model = target.model;
  o.seq_len = target.seq_len.value_or(o.seq_len);
  if (target.global_batch.has_value()) o.global_batch = target.global_batch.of(o.seq_len);
  for (const auto& [flag, value] :
       {std::pair{"--seq-len", o.seq_len}, {"--global-batch", o.global_batch}}) {
    if (value <= kMostHere) continue;
    throw_config_error(ExitCode::bad_request, flag, "",
                       fmt::format("{} is more than {}, on this machine", value, kMostHere));
  }
  return o;
}

TuneOn tune_on(const std::string& word) {
  if (word == "slurm") return TuneOn::slurm;
  return word == "mpirun" ? TuneOn::mpirun : TuneOn::local;
}

// What --on cannot use, and what of the launcher another one reads.
void refuse_for_launcher(const CLI::App& command, const std::string& on) {
  Diagnostics problems;
  const auto refuse = [&](const char* option, const char* hint) {
    if (command.count(option) > 0)
      problems.error(ExitCode::bad_request, "", option, "has no effect with --on " + on, hint);
  };
  if (on != "slurm") {
    for (const char* option :
         {"--partition", "--account", "--qos", "--reservation", "--image", "--queue-time"})
      refuse(option, "--on slurm");
  }
  if (on != "mpirun") refuse("--hostfile", "--on mpirun");
  for (const char* option :
       {"--ranks", "--rounds", "--plans", "--recalibrate", "--tokenizer", "--split", "--eod"})
    refuse(option, "leave it out; --arg hands arguments to the trainer");
  if (command.count("--script") > 0) {
    for (const char* option : {"--megatron-script", "--image", "--hostfile", "--data", "--lr"}) {
      if (command.count(option) > 0)
        problems.error(ExitCode::bad_request, "", option, "has no effect with --script",
                       "say it in the script");
    }
  }
  problems.throw_if_errors();
}

void run_trials(const TuneRequest& request) {
  const TuneTrialsOptions& o = request.trials;
  const TuneOptions& shared = request.here;
  TargetOptions target = request.target;
  refuse_for_launcher(*request.command, o.on);
  // Ranks on this machine's CPU, as `pleat train` has it.
  const bool here = target.runtime.empty() ? o.on == "local" : target.runtime == "pleat";
  if (target.cluster.empty() && target.profile.empty() && here) target.cluster = "localhost";
  FindPlanOptions asked;
  asked.target = target;
  asked.search = o.search;
  refuse_ineffective_search_options(asked, [](const std::string&) { return false; });
  TrialsOptions t = o.trials;
  t.on = tune_on(o.on);
  t.budget = read_duration(o.budget, "--budget");
  t.trial_seconds = read_duration(o.trial_time, "--trial-time");
  t.queue_seconds = read_duration(o.queue_time, "--queue-time");
  if (!shared.out.empty()) t.out = shared.out;
  if (shared.steps > 0) t.steps = shared.steps;
  t.data = shared.data;
  t.lr = shared.lr;
  t.json = shared.json;
  t.version = PLEAT_VERSION;
  Target resolved = resolve_target(target);
  const NumericsQuestion formats = numerics_question(o.search.numerics, resolved);
  tune_trials(resolved, search_config(o.search, formats, resolved), t);
}

}  // namespace

void run_tune(const TuneRequest& request) {
  if (!request.replayed.empty())
    replay_files(request.replayed, request.here.json);
  else if (!request.trials.on.empty())
    run_trials(request);
  else
    tune(with_target(request.here, request.target));
}

}  // namespace pleat::cli
