// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/tune_trials.hpp"

#include <CLI/CLI.hpp>

#include "cli/numerics_options.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/search_options.hpp"

namespace pleat::cli {
namespace {

const char* const kTrials = "Trials";

void add_job_options(CLI::App& command, TrialsOptions& o) {
  const auto option = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)->group(kTrials);
  };
  option("--script", o.script,
         "A job file of yours, for bash or sbatch, in place of ours; it runs the plan in "
         "$PLEAT_TRIAL_PLAN for $PLEAT_TRIAL_STEPS steps, or sources $PLEAT_TRIAL_ARGS for "
         "MEGATRON_ARGS, and prints the log");
  option("--megatron-script", o.slots.script, "Megatron-LM's training script, in our job file")
      ->capture_default_str();
  option("--arg", o.slots.extra, "A further argument of it, or of `pleat train`; may be repeated")
      ->expected(1)
      ->take_all();
  option("--gpus-per-node", o.gpus_per_node, "GPUs of a node (default: the cluster's)")
      ->check(in_range(1, 1024));
  option("--image", o.slots.image, "Container image, under Slurm");
  option("--partition", o.slots.partition, "Slurm's partition");
  option("--account", o.slots.account, "Slurm's account");
  option("--qos", o.slots.qos, "Slurm's quality of service");
  option("--reservation", o.slots.reservation, "Slurm's reservation");
  option("--hostfile", o.slots.hostfile, "Hosts of mpirun");
}

}  // namespace

void add_trials_options(CLI::App& command, TuneTrialsOptions& o) {
  command
      .add_option("--on", o.on,
                  "Run the best plans for a few steps each where they are to train: local, "
                  "mpirun or slurm")
      ->check(one_of({"local", "mpirun", "slurm"}))
      ->group(kTrials);
  TrialsOptions& t = o.trials;
  const auto option = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)->capture_default_str()->group(kTrials);
  };
  option("--trials", t.trials, "At most so many trials")->check(in_range(1, 10'000));
  option("--budget", o.budget, "At most so much time for all of them, 2h or 90m");
  option("--parallel", t.parallel, "Trials at a time")->check(in_range(1, 1000));
  option("--trial-time", o.trial_time, "A trial that runs longer is taken to hang");
  option("--queue-time", o.queue_time, "One that waits longer is given up");
  option("--min-gain", t.least_gain,
         "Go on while a trial is expected to make the step so much shorter, 0.005 for 0.5%")
      ->check(in_range(0.0, 1.0));
  option("--interval", t.interval, "Seconds between looks at the jobs")
      ->check(in_range(0.05, 3600.0));
  command
      .add_option("--trials-file", t.trials_file,
                  "SQLite file that keeps the trials (default: tune.sqlite in --out); with it, the "
                  "same command goes on where it was")
      ->group(kTrials);
  command.add_flag("--dry-run", t.dry_run, "Run nothing: which trials would run, and why each")
      ->group(kTrials);
  add_job_options(command, t);
  add_numerics_mode(command, o.search.numerics.mode, kNumericsGroup);
  add_numerics_options(command, o.search.numerics.fields);
  add_search_pins(command, o.search);
  add_search_limits(command, o.search);
}

}  // namespace pleat::cli
