// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat config, config set, config unset
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/config/config_text.hpp"
#include "cli/config/option_defaults.hpp"
#include "console/output.hpp"
#include "console/tables.hpp"
#include "console/terminal.hpp"
#include "console/wrap.hpp"
#include "console/write_file.hpp"
#include "core/environment.hpp"
#include "core/json/json_value.hpp"
#include "core/json/text_file.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kNamed = 3;  // commands of a key that are all named

bool is_there(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

std::string text_of(const std::string& file) { return is_there(file) ? read_text_file(file) : ""; }

std::string holds_for(const OptionDefault& d) {
  if (d.commands.size() <= kNamed) return fmt::format("{}", fmt::join(d.commands, ", "));
  return fmt::format("{} and {} more",
                     fmt::join(d.commands.begin(), d.commands.begin() + kNamed, ", "),
                     d.commands.size() - kNamed);
}

JsonValue json_of(const std::string& file, const std::vector<OptionDefault>& defaults) {
  JsonValue list = JsonValue::array();
  for (const OptionDefault& d : defaults) {
    JsonValue commands = JsonValue::array();
    for (const std::string& command : d.commands) commands.push_back(command);
    list.push_back(JsonValue::object()
                       .set("key", d.key)
                       .set("value", d.value)
                       .set("commands", std::move(commands))
                       .set("line", d.line));
  }
  return JsonValue::object()
      .set("schema_version", 1)
      .set("file", file)
      .set("named_by", option_defaults_file().variable)
      .set("is_there", is_there(file))
      .set("defaults", std::move(list));
}

std::string shown(const std::string& file, const std::vector<OptionDefault>& defaults,
                  const Terminal& t) {
  Fact fact{"file", {file.empty() ? "none" : file}};
  if (const Location& named = option_defaults_file(); named.path == file && !named.variable.empty())
    fact.fields.push_back("from " + named.variable);
  if (!is_there(file)) fact.fields.emplace_back("not there");
  std::string text = facts_text({fact}, t.columns);
  if (defaults.empty()) {
    return text + "no defaults: `pleat config set cluster h100-sxm` makes one\n";
  }
  Table table{{{"default", Align::left}, {"value", Align::left}, {"line"}, {"for", Align::left}},
              {}};
  for (const OptionDefault& d : defaults)
    table.rows.push_back({d.key, d.value, std::to_string(d.line), holds_for(d)});
  return text + "\n" + to_text(table, t.columns);
}

void show(CLI::App& app, bool json) {
  const std::string file = defaults_file(app);
  if (defaults_problem() && !is_there(file)) throw *defaults_problem();
  const std::vector<OptionDefault> defaults = read_defaults(app, file, text_of(file));
  print(json ? json_of(file, defaults).dump() + "\n" : shown(file, defaults, terminal()));
}

std::string file_to_change(const CLI::App& app) {
  const std::string file = defaults_file(app);
  if (!file.empty()) return file;
  throw_config_error(ExitCode::bad_request, "", "", "no file of defaults is named",
                     "PLEAT_CONFIG=FILE, XDG_CONFIG_HOME or HOME names one");
}

// "--tp INT|RANGE: Only these tensor parallel sizes: 1,2 or 4..8"
std::string what_it_takes(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return fmt::format("{}{}{}: {}", option.get_name(), type.empty() ? "" : " ", type,
                     option.get_description());
}

// What the option itself says of a value, of each command that has it.
void require_valid(CLI::App& app, const std::string& key, const std::string& value) {
  for (CLI::Option* option : options_of_key(app, key)) {
    const bool flag = option->get_expected_max() == 0;
    if (flag && value != "true" && value != "false") {
      throw_config_error(ExitCode::bad_request, "", key,
                         fmt::format("\"{}\" is no value of a flag", value), "true or false");
    }
    if (flag) continue;
    try {
      option->clear();
      option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError& e) {
      throw_config_error(ExitCode::bad_request, "", key, e.what(), what_it_takes(*option));
    }
  }
}

void put(CLI::App& app, const std::string& key, const std::string& value) {
  const std::string file = file_to_change(app);
  require_valid(app, key, value);
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) make_folder(folder.string());
  write_and_say(file, with_value(text_of(file), key, value));
}

void take_out(const CLI::App& app, const std::string& key) {
  const std::string file = file_to_change(app);
  const std::string text = text_of(file);
  if (line_of(text, key) == 0) {
    throw_config_error(ExitCode::bad_request, file, key, "is not there",
                       "`pleat config` shows what is");
  }
  write_and_say(file, without_key(text, key));
}

void add_set(CLI::App& app, CLI::App& config, Action& action) {
  CLI::App* command = config.add_subcommand("set", "Write a default into the file");
  const auto key = std::make_shared<std::string>(), value = std::make_shared<std::string>();
  command->add_option("KEY", *key, "An option, \"cluster\"; of one command \"plan.top\"")
      ->required();
  command->add_option("VALUE", *value, "As it is typed behind the option; of a flag true or false")
      ->required();
  command->footer(
      "Examples:\n"
      "  pleat config set cluster h100-sxm\n"
      "  pleat config set plan.top 10\n"
      "  pleat config set train.async-save true");
  command->callback(
      [&app, &action, key, value] { action = [&app, key, value] { put(app, *key, *value); }; });
}

void add_unset(CLI::App& app, CLI::App& config, Action& action) {
  CLI::App* command = config.add_subcommand("unset", "Take a default out of the file");
  const auto key = std::make_shared<std::string>();
  command->add_option("KEY", *key, "As `pleat config` shows it")->required();
  command->footer("Examples:\n  pleat config unset cluster\n  pleat config unset plan.top");
  command->callback([&app, &action, key] { action = [&app, key] { take_out(app, *key); }; });
}

}  // namespace

void add_config_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("config", "Defaults of options, from one file");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  add_set(app, *command, action);
  add_unset(app, *command, action);
  command->require_subcommand(0, 1);
  command->footer(
      "The file is ~/.config/pleat/config.toml; XDG_CONFIG_HOME moves it, PLEAT_CONFIG names\n"
      "another or, when it is empty, none. A key before any section holds for plan, predict,\n"
      "capacity, serve, program and model; one below [train] for `pleat train`. What is typed "
      "goes\n"
      "before the file.\n\n"
      "Examples:\n"
      "  pleat config\n"
      "  pleat config set cluster h100-sxm\n"
      "  pleat config unset plan.top");
  command->callback([&app, &action, command, json] {
    if (command->get_subcommands().empty()) action = [&app, json] { show(app, *json); };
  });
}

}  // namespace pleat::cli
