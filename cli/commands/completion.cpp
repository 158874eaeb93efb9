// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat completion
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/completion_script.hpp"
#include "cli/option_choices.hpp"
#include "console/output.hpp"

namespace pleat::cli {

void add_completion_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("completion", "A script that completes pleat's commands");
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n"
      "  source <(pleat completion bash)\n"
      "  pleat completion zsh > \"${fpath[1]}/_pleat\"\n"
      "  pleat completion fish > ~/.config/fish/completions/pleat.fish");
  command->callback([&app, &action, shell] {
    action = [&app, shell] { print(completion_script(app, *shell)); };
  });
}

}  // namespace pleat::cli
