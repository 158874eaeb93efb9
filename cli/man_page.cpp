// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "cli/suggestions.hpp"

namespace pleat::cli {
namespace {

// Text that roff prints as it is: no escapes, no macros at the beginning of a line.
std::string plain_roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string option_roff(const CLI::Option& option) {
  const bool positional = option.get_lnames().empty() && option.get_snames().empty();
  std::string text = ".TP\n\\fB" + plain_roff(option.get_name(positional, !positional)) + "\\fR";
  if (!option.get_type_name().empty() && option.get_expected_max() > 0)
    text += " \\fI" + plain_roff(option.get_type_name()) + "\\fR";
  text += "\n" + plain_roff(option.get_description());
  if (!option.get_default_str().empty())
    text += fmt::format(" (default: {})", plain_roff(option.get_default_str()));
  return text + "\n";
}

std::string options_roff(const CLI::App& command) {
  std::string text;
  for (const std::string& group : command.get_groups()) {
    if (group.empty()) continue;
    std::string of_group;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_group() == group) of_group += option_roff(*option);
    }
    if (of_group.empty()) continue;
    if (group != "Options" && group != "Positionals")
      text += ".PP\n\\fB" + plain_roff(group) + "\\fR\n";
    text += of_group;
  }
  return text;
}

std::string as_it_stands(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + plain_roff(text) + "\n.fi\n";
}

std::string command_roff(const CLI::App& command) {
  std::string text = ".SS \"" + plain_roff(full_name(command)) + "\"\n" +
                     plain_roff(command.get_description()) + ".\n" + options_roff(command) +
                     as_it_stands(command.get_footer());
  for (const CLI::App* inner : command.get_subcommands({})) text += command_roff(*inner);
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string text = fmt::format(
      ".TH PLEAT 1 \"\" \"{}\" \"User Commands\"\n"
      ".SH NAME\npleat \\- plans, predicts and runs Mixture\\-of\\-Experts training\n"
      ".SH SYNOPSIS\n.B pleat\n.I COMMAND\n[\\fIOPTION\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n{}.SH COMMANDS\n",
      plain_roff(version), plain_roff(app.get_description()), as_it_stands(app.get_footer()));
  for (const CLI::App* command : app.get_subcommands({})) text += command_roff(*command);
  return text +
         ".SH FILES\n.TP\n\\fI~/.config/pleat/config.toml\\fR\nDefaults of options (pleat "
         "config).\n"
         ".TP\n\\fI~/.cache/pleat\\fR\nProfiles that pleat calibrate fitted.\n";
}

}  // namespace pleat::cli
