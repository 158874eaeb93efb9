// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat sample
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"

namespace pleat::cli {

void add_sample_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* command = app.add_subcommand("sample", "Let a trained model go on writing a text");
  const auto o = std::make_shared<SampleOptions>();
  command->add_option("--checkpoint", o->checkpoint,
                      "Checkpoint of `pleat train --save`, or the newest of this folder");
  command->add_option("--from", o->from, "Instead: folder of a Hugging Face model");
  command->add_option("--tokenizer", o->tokenizer,
                      "'byte', a tokenizer.json or a folder with one (default: byte, or that of "
                      "--from)");
  command->add_option("-p,--prompt", o->prompt, "How the text begins (default: a line's end)");
  command->add_option("--tokens", o->tokens, "Tokens to write")
      ->capture_default_str()
      ->check(in_range(1, 1'000'000));
  command
      ->add_option("--temperature", o->temperature,
                   "1: as likely as the model says; less: the likeliest more often; 0: always the "
                   "likeliest")
      ->capture_default_str()
      ->check(in_range(0.0, 100.0));
  command->add_option("--top-k", o->top_k, "Choose among so many of the likeliest (default: all)")
      ->check(in_range(1, 16'777'216));
  command
      ->add_option("--context", o->context,
                   "Tokens that are looked at (default: a sequence of the training; 256 with "
                   "--from)")
      ->check(in_range(std::int64_t{1}, std::int64_t{1'000'000}));
  command->add_option("--seed", o->seed, "The same seed writes the same text")
      ->capture_default_str();
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Runs on one rank of this machine's CPU. Each token costs a forward pass of the context.\n\n"
      "Examples:\n"
      "  pleat sample --checkpoint ckpt --prompt 'In the beginning'\n"
      "  pleat sample --from ./Qwen3-0.6B --prompt 'In the beginning' --temperature 0 --tokens 20");
  command->callback([&action, run = backend.sample_text, o] { action = [run, o] { run(*o); }; });
}

}  // namespace pleat::cli
