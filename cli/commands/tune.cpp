// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat tune
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "application/tune/replay.hpp"
#include "application/tune/tune.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {

void add_tune_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "tune", "The whole loop here: calibrate, plan, train the winner, check the prediction");
  const auto o = std::make_shared<TuneOptions>();
  command
      ->add_option("-m,--model", o->model, "Name of a shipped model or a Hugging Face config.json")
      ->check(offers_configs(ConfigKind::model))
      ->capture_default_str();
  command->add_option("-d,--data", o->data, "What to train on, as `pleat train --data` says it")
      ->capture_default_str();
  command
      ->add_option("--tokenizer", o->tokenizer,
                   "For text: 'byte', a tokenizer.json or a folder with one")
      ->capture_default_str();
  command
      ->add_option("--split", o->split,
                   "Shares of documents for training, validation and test: \"969, 30, 1\"")
      ->capture_default_str();
  command->add_option("--eod", o->eod, "Token that ends documents (default: the tokenizer's)");
  command->add_option("--ranks", o->ranks, "Ranks, threads of this process")
      ->capture_default_str()
      ->check(in_range(1, 64));
  command->add_option("-s,--seq-len", o->seq_len, "Tokens of a sequence")
      ->capture_default_str()
      ->check(in_range(1, 65'536));
  command->add_option("-b,--global-batch", o->global_batch, "Sequences of a step")
      ->capture_default_str()
      ->check(in_range(1, 65'536));
  command->add_option("--steps", o->steps, "Training steps (default: about 40 seconds of them)")
      ->check(in_range(1, 1'000'000));
  command->add_option("--rounds", o->rounds, "Rounds of the comparison")
      ->capture_default_str()
      ->check(in_range(1, 1000));
  command
      ->add_option("--plans", o->plans,
                   "Run so many plans of the search and variants of them in turns, "
                   "and say how far the predictions are off")
      ->check(in_range(2, 100));
  command->add_option("--lr", o->lr, "Learning rate of AdamW")
      ->capture_default_str()
      ->check(in_range(0.0, 1.0));
  command->add_option("-o,--out", o->out, "Folder for the profile, the plan and the traces "
                                          "(default: tune in Pleat's cache folder)");
  command->add_flag("--recalibrate", o->recalibrate,
                    "Measure even if the folder's profile is fresh");
  command->add_flag("--json", o->json, "Print JSON");
  const auto replayed = std::make_shared<std::vector<std::string>>();
  CLI::Option* const replay = command->add_option(
      "--replay", *replayed,
      "Judge the choice of trials instead, over files of measured runs as `pleat validate` takes: "
      "time lost after 1 to 5 trials, beside random choice and the prediction's order");
  for (CLI::Option* option : command->get_options()) {
    if (option != replay && option->get_name() != "--json" && option->get_name() != "--help")
      replay->excludes(option);
  }
  command->footer("Examples:\n"
                  "  pleat tune\n"
                  "  pleat tune --data corpus.txt --steps 200 --out runs/first\n"
                  "  pleat tune --plans 12 --rounds 5 --recalibrate\n"
                  "  pleat tune --ranks 2 --recalibrate --json\n"
                  "  pleat tune --replay configs/validation/vtrain.jsonl");
  command->callback([&action, o, replayed] {
    action = [o, replayed] {
      if (replayed->empty())
        tune(*o);
      else
        replay_files(*replayed, o->json);
    };
  });
}

}  // namespace pleat::cli
