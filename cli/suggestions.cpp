// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestions.hpp"

#include <CLI/CLI.hpp>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first argument nobody wanted, without its "=value".
std::string first_extra(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word != "--") return word.substr(0, word.find('='));
  }
  return {};
}

bool is_extra(const CLI::ParseError& e) {
  return e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
}

}  // namespace

const CLI::App& selected(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : *parsed.front();
}

std::string help_text(const CLI::App& app, const CLI::App* command) {
  const std::string name = command == nullptr ? app.get_name() : app.get_name() + " " + command->get_name();
  const CLI::App& about = command == nullptr ? app : *command;
  // Not App::help, which would describe the subcommand that was parsed instead.
  return about.get_formatter()->make_help(&about, name, CLI::AppFormatMode::Normal);
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

void throw_unknown_command(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = command_names(app);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  const std::string near = nearest_name(word, names);
  throw_config_error(ExitCode::bad_request, "", "", "unknown command '" + word + "'",
                     near.empty() ? "commands are " + all : "did you mean '" + near + "'?");
}

std::string parse_problem(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& command = selected(app);
  if (!is_extra(e)) return e.what();
  const std::string word = first_extra(command);
  if (word.rfind("-", 0) == 0) return "unknown option " + word;
  return "unexpected argument '" + word + "'";
}

std::string parse_hint(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& command = selected(app);
  const std::string help =
      &command == &app ? "`pleat --help` lists the commands"
                       : "`pleat help " + command.get_name() + "` lists the options";
  if (!is_extra(e)) return help;
  const std::string near = nearest_name(first_extra(command), option_names(command));
  return near.empty() ? help : "did you mean " + near + "? " + help;
}

}  // namespace pleat::cli
