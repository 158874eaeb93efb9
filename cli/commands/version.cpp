// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat version, pleat help
#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/man_page.hpp"
#include "cli/short_help.hpp"
#include "cli/suggestions.hpp"
#include "console/output.hpp"

namespace pleat::cli {

std::string version_text() { return std::string("pleat ") + PLEAT_VERSION; }

void add_version_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Examples:\n  pleat version\n  pleat version --json");
  command->callback([&action, json] {
    action = [json] {
      print(*json ? std::string("{\"version\": \"") + PLEAT_VERSION + "\"}\n"
                  : version_text() + "\n");
    };
  });
}

void add_help_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("help", "Describe a command, with examples");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "The command to describe")->type_name("")->expected(0, 2);
  const auto man = std::make_shared<bool>(false);
  command->add_flag("--man", *man, "Print all of it as a manual page, for man(1)");
  command->footer(
      "Examples:\n  pleat help\n  pleat help plan\n  pleat help data make\n"
      "  pleat help --man > ~/.local/share/man/man1/pleat.1");
  command->callback([&app, &action, words, man] {
    action = [&app, words, man] {
      if (*man) {
        print(man_page(app, version_text()));
        return;
      }
      std::string name;
      for (const std::string& word : *words) name += (name.empty() ? "" : " ") + word;
      const CLI::App* about = find_command(app, name);
      if (!name.empty() && about == nullptr) throw_unknown_command(app, name);
      print_help(help_text(app, about));
    };
  });
}

}  // namespace pleat::cli
