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

// A command of commands without one that it knows.
bool lacks_command(const CLI::App& command, const CLI::ParseError& e) {
  return e.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
         !command_names(command).empty();
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

const CLI::App& selected(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : selected(*parsed.front());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::string help_text(const CLI::App& app, const CLI::App* command) {
  const CLI::App& about = command == nullptr ? app : *command;
  // Not App::help, which would describe the subcommand that was parsed instead.
  return about.get_formatter()->make_help(&about, full_name(about), CLI::AppFormatMode::Normal);
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const std::size_t space = name.find(' ');
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() != name.substr(0, space)) continue;
    return space == std::string::npos ? command : find_command(*command, name.substr(space + 1));
  }
  return nullptr;
}

void throw_unknown_command(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = command_names(app);
  const std::string near = nearest_name(word, names);
  throw_config_error(
      ExitCode::bad_request, "", "", "unknown command '" + word + "'",
      near.empty() ? "commands are " + joined(names) : "did you mean '" + near + "'?");
}

std::string parse_problem(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& command = selected(app);
  const std::string word = first_extra(command);
  if (lacks_command(command, e) && &command != &app) {
    return word.empty() ? "`" + full_name(command) + "` needs one of its commands"
                        : "unknown command '" + full_name(command) + " " + word + "'";
  }
  if (!is_extra(e)) return e.what();
  if (word.rfind("-", 0) == 0) return "unknown option " + word;
  return "unexpected argument '" + word + "'";
}

std::string parse_hint(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App& command = selected(app);
  const std::string help =
      &command == &app ? "`pleat --help` lists the commands"
                       : "`pleat help " + full_name(command).substr(app.get_name().size() + 1) +
                             "` lists the options";
  if (lacks_command(command, e) && &command != &app) {
    const std::string near = nearest_name(first_extra(command), command_names(command));
    return near.empty() ? "commands are " + joined(command_names(command))
                        : "did you mean '" + near + "'?";
  }
  if (!is_extra(e)) return help;
  const std::string near = nearest_name(first_extra(command), option_names(command));
  return near.empty() ? help : "did you mean " + near + "? " + help;
}

}  // namespace pleat::cli
