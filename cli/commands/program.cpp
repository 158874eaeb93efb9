// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat program
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/program_report.hpp"
#include "cli/option_checks.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

void add_program_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("program", "Print the operations and tensors of a plan's training step");
  const auto o = std::make_shared<ProgramOptions>();
  add_plan_options(*command, o->plan);
  command->add_option("--layer", o->layer, "Only this decoder layer, from 0")
      ->check(in_range(std::int64_t{0}, std::int64_t{10'000}));
  command
      ->add_option("--stage", o->stage,
                   "Pipeline stage, from 0 (default: the first, or the layer's)")
      ->check(in_range(0, 16'777'215));
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat program --model deepseek-v3 --ep 32 --layer 7\n"
      "  pleat program --model qwen3-30b-a3b --pp 4 --ep 8 --stage 3\n"
      "  pleat program --plan plan.json --layer 0 --json");
  command->callback([&action, o] { action = [o] { show_program(*o); }; });
}

}  // namespace pleat::cli
