// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat tune
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <memory>

#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/tune_trials.hpp"
#include "cli/config/option_defaults.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

// What was typed and has no meaning: beside --replay everything, without --on what only trials
// read. Without them it runs here, with the profile that it measures.
void refuse_ineffective(const CLI::App& command, const std::vector<const CLI::Option*>& of_trials) {
  Diagnostics problems;
  const bool replays = command.count("--replay") > 0, trials = command.count("--on") > 0;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (!is_typed(*option) || name == "--replay" || name == "--json") continue;
    if (replays)
      problems.error(ExitCode::bad_request, "", name, "has no effect with --replay",
                     "leave it out");
    else if (!trials && std::ranges::find(of_trials, option) != of_trials.end())
      problems.error(ExitCode::bad_request, "", name, "has no effect without --on",
                     "--on slurm, mpirun or local");
  }
  problems.throw_if_errors();
}

// Those of the job that only trials read, and all that was declared after the first `before`.
std::vector<const CLI::Option*> trial_options(const CLI::App& command, std::size_t before) {
  std::vector<const CLI::Option*> list;
  for (const char* option : {"--cluster", "--gpus", "--runtime", "--profile", "--capacity-factor",
                             "--straggler-slowdown", "--unbound-ranks", "--documents", "--routing",
                             "--imbalance", "--pad-to-capacity", "--accept-mismatch"})
    list.push_back(command.get_option(option));
  const std::vector<const CLI::Option*> all = command.get_options();
  list.insert(list.end(), all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  return list;
}

}  // namespace

void add_tune_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* command = app.add_subcommand(
      "tune",
      "The whole loop here: calibrate, plan, train the winner, check the prediction; with --on, "
      "trials of the best plans on a cluster");
  const auto request = std::make_shared<TuneRequest>();
  request->command = command;
  TuneOptions& o = request->here;
  add_target_options(*command, request->target);
  command->add_option("-d,--data", o.data, "What to train on, as `pleat train --data` says it")
      ->capture_default_str();
  command
      ->add_option("--tokenizer", o.tokenizer,
                   "For text: 'byte', a tokenizer.json or a folder with one")
      ->capture_default_str();
  command
      ->add_option("--split", o.split,
                   "Shares of documents for training, validation and test: \"969, 30, 1\"")
      ->capture_default_str();
  command->add_option("--eod", o.eod, "Token that ends documents (default: the tokenizer's)");
  command->add_option("--ranks", o.ranks, "Ranks, threads of this process")
      ->capture_default_str()
      ->check(in_range(1, 64));
  command
      ->add_option("--steps", o.steps,
                   "Training steps (default: about 40 seconds of them; 10 of each trial)")
      ->check(in_range(1, 1'000'000));
  command->add_option("--rounds", o.rounds, "Rounds of the comparison")
      ->capture_default_str()
      ->check(in_range(1, 1000));
  command
      ->add_option("--plans", o.plans,
                   "Run so many plans of the search and variants of them in turns, "
                   "and say how far the predictions are off")
      ->check(in_range(2, 100));
  command->add_option("--lr", o.lr, "Learning rate of AdamW")
      ->capture_default_str()
      ->check(in_range(0.0, 1.0));
  command->add_option("-o,--out", o.out,
                      "Folder for the profile, the plan and the traces "
                      "(default: tune in Pleat's cache folder); of trials: "
                      "one that all nodes see (pleat-tune)");
  command->add_flag("--recalibrate", o.recalibrate,
                    "Measure even if the folder's profile is fresh");
  command->add_flag("--json", o.json, "Print JSON");
  command->add_option(
      "--replay", request->replayed,
      "Judge the choice of trials instead, over files of measured runs as `pleat validate` takes: "
      "time lost after 1 to 5 trials, beside random choice and the prediction's order");
  const std::size_t before = command->get_options().size();
  add_trials_options(*command, request->trials);
  command->footer(
      "Examples:\n"
      "  pleat tune\n"
      "  pleat tune --data corpus.txt --steps 200 --out runs/first\n"
      "  pleat tune --plans 12 --rounds 5 --recalibrate\n"
      "  pleat tune --ranks 2 --recalibrate --json\n"
      "  pleat tune --on slurm --runtime megatron --model qwen3-30b-a3b --cluster "
      "h100-sxm --gpus 64 \\\n"
      "      --seq-len 4096 --global-batch 512 --trials 12 --budget 2h --parallel 2 "
      "--dry-run\n"
      "  pleat tune --on local --model tiny-moe --gpus 4 --seq-len 128 --global-batch "
      "32 --steps 8\n"
      "  pleat tune --on slurm --script train.sbatch --model mixtral-8x7b --cluster "
      "h100-sxm \\\n"
      "      --gpus 64 --seq-len 4096 --global-batch 256\n"
      "  pleat tune --replay configs/validation/vtrain.jsonl\n"
      "With --on, one job a trial; what was run is kept in --trials-file, and the same "
      "command goes on.");
  command->callback([&action, run = backend.tune, before, request] {
    action = [run, before, request] {
      refuse_ineffective(*request->command, trial_options(*request->command, before));
      run(*request);
    };
  });
}

}  // namespace pleat::cli
