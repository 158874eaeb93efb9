// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/config/option_defaults.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>

#include "cli/config/config_text.hpp"
#include "cli/suggestions.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"

namespace pleat::cli {
namespace {

// What stands before any section is for these. What runs something here takes its own section only:
// the cluster one plans for is not the machine one trains on.
constexpr std::array<std::string_view, 6> kAsking{"plan",  "predict", "capacity",
                                                  "serve", "program", "model"};
// Said with each command or not at all.
constexpr std::array<std::string_view, 8> kNoDefaults{"help", "force", "accept-mismatch", "dry-run",
                                                      "out",  "html",  "trace",           "plan"};

std::optional<ConfigError>& found_problem() {
  static std::optional<ConfigError> found;
  return found;
}

std::set<const CLI::Option*>& taken() {
  static std::set<const CLI::Option*> options;
  return options;
}

// "plan", "data make"; empty: the program itself.
std::string name_of(const CLI::App& command) {
  const std::string name = full_name(command);
  const std::size_t blank = name.find(' ');
  return blank == std::string::npos ? "" : name.substr(blank + 1);
}

void add_commands_of(CLI::App& command, std::vector<CLI::App*>& all) {
  for (CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
    all.push_back(inner);
    add_commands_of(*inner, all);
  }
}

std::vector<CLI::App*> all_commands_of(CLI::App& app) {
  std::vector<CLI::App*> all;
  add_commands_of(app, all);
  return all;
}

bool may_have_default(const CLI::Option& option) {
  return !option.get_lnames().empty() &&
         std::ranges::find(kNoDefaults, option.get_lnames().front()) == kNoDefaults.end();
}

// A key as it is written, apart: "data.make" and "sort".
struct Key {
  std::string section, name;
};

Key apart(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

// The commands of a section; of no section those that ask.
std::vector<CLI::App*> commands_for(CLI::App& app, const std::string& section) {
  std::string command = section;
  std::ranges::replace(command, '.', ' ');
  std::vector<CLI::App*> found;
  for (CLI::App* one : all_commands_of(app)) {
    const std::string name = name_of(*one);
    const bool asks = std::ranges::find(kAsking, name) != kAsking.end();
    if (section.empty() ? asks : name == command || name.starts_with(command + " "))
      found.push_back(one);
  }
  return found;
}

std::vector<std::string> names_of_options(const std::vector<CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) {
    for (const CLI::Option* option : command->get_options()) {
      if (may_have_default(*option)) names.push_back(option->get_lnames().front());
    }
  }
  return names;
}

std::string or_near(const std::string& near, const std::string& otherwise) {
  return near.empty() ? otherwise : fmt::format("did you mean {}? {}", near, otherwise);
}

Diagnostic wrong(const std::string& where, const std::string& key, std::string message,
                 std::string hint) {
  return {Severity::error,
          where.empty() ? ExitCode::bad_request : ExitCode::bad_file,
          where,
          key,
          std::move(message),
          std::move(hint)};
}

Diagnostic unknown_section(CLI::App& app, const std::string& where, const Key& key) {
  std::vector<std::string> names;
  for (const CLI::App* command : all_commands_of(app)) {
    names.push_back(name_of(*command));
    std::ranges::replace(names.back(), ' ', '.');
  }
  const std::string near = nearest_name(key.section, names);
  return wrong(where, key.section + "." + key.name,
               fmt::format("pleat has no command \"{}\"", key.section),
               or_near(near.empty() ? "" : "[" + near + "]", "sections are names of commands"));
}

Diagnostic unknown_option(CLI::App& app, const std::string& where, const Key& key,
                          const std::vector<CLI::App*>& commands) {
  const std::string full = key.section.empty() ? key.name : key.section + "." + key.name;
  const std::string near = nearest_name(key.name, names_of_options(commands));
  if (!key.section.empty()) {
    return wrong(where, full, fmt::format("`pleat {}` has no such option", name_of(*commands[0])),
                 or_near(near, fmt::format("`pleat help {}` lists them", name_of(*commands[0]))));
  }
  std::vector<std::string> others;
  for (CLI::App* command : all_commands_of(app)) {
    const CLI::Option* option = command->get_option_no_throw("--" + key.name);
    if (option != nullptr && may_have_default(*option)) others.push_back(name_of(*command));
  }
  const std::string message = fmt::format("none of the commands that ask ({}) has such an option",
                                          fmt::join(kAsking, ", "));
  if (others.empty())
    return wrong(where, full, message, or_near(near, "`pleat help` lists commands"));
  std::string section = others.front();
  std::ranges::replace(section, ' ', '.');
  return wrong(
      where, full, message,
      fmt::format("it is one of `pleat {}`: write it below [{}]", others.front(), section));
}

// The options that a key means, or what is wrong with it.
struct Meant {
  std::vector<CLI::Option*> options;
  std::vector<CLI::App*> commands;  // of each
  std::optional<Diagnostic> problem;
};

Meant options_of(CLI::App& app, const std::string& where, const Key& key) {
  Meant meant;
  const std::vector<CLI::App*> commands = commands_for(app, key.section);
  if (commands.empty()) {
    meant.problem = unknown_section(app, where, key);
    return meant;
  }
  bool never = false;
  for (CLI::App* command : commands) {
    CLI::Option* option = command->get_option_no_throw("--" + key.name);
    if (option == nullptr) continue;
    if (may_have_default(*option)) {
      meant.options.push_back(option);
      meant.commands.push_back(command);
    } else {
      never = true;
    }
  }
  if (!meant.options.empty()) return meant;
  const std::string full = key.section.empty() ? key.name : key.section + "." + key.name;
  meant.problem = never ? wrong(where, full, "has no default: it is said with each command",
                                "leave it out of the file")
                        : unknown_option(app, where, key, commands);
  return meant;
}

// Items of the file, without the marks of its sections.
std::vector<CLI::ConfigItem> items_of(const std::string& text) {
  std::istringstream input(text);
  std::vector<CLI::ConfigItem> items = CLI::ConfigTOML().from_config(input);
  std::erase_if(items, [](const CLI::ConfigItem& i) { return i.name == "++" || i.name == "--"; });
  return items;
}

// The reader joins the values of a key that stands there twice.
bool stands_twice(const std::string& text, const std::string& key) {
  return line_of(without_key(text, key), key) > 0;
}

std::vector<CLI::ConfigItem> checked_items(CLI::App& app, const std::string& file,
                                           const std::string& text) {
  std::vector<CLI::ConfigItem> items = items_of(text);
  Diagnostics problems;
  std::set<std::string> seen;
  for (const CLI::ConfigItem& item : items) {
    const std::string key = item.fullname();
    if (!seen.insert(key).second) continue;
    if (const auto& problem = options_of(app, file, apart(key)).problem) {
      problems.add(*problem);
    } else if (stands_twice(text, key)) {
      problems.error(ExitCode::bad_file, file, key, "stands there twice", "leave one of them out");
    }
  }
  problems.throw_if_errors();
  return items;
}

// What stands beside it on the command line makes a default senseless: a plan file says all of the
// workload and the plan, and options may exclude each other.
bool gives_way(const CLI::App& command, const CLI::Option& option) {
  const auto given = [](const CLI::Option* other) { return other->count() > 0; };
  if (option.count() > 0) return true;
  if (std::ranges::any_of(option.get_excludes(), given)) return true;
  const CLI::Option* const plan = command.get_option_no_throw("--plan");
  return plan != nullptr && given(plan) &&
         (option.get_group() == "Workload" || option.get_group() == "Plan");
}

// The library's reader of TOML; what it gives the library are the defaults of the parsed command.
class Defaults : public CLI::ConfigTOML {
 public:
  explicit Defaults(CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    try {
      const std::string text(std::istreambuf_iterator<char>(input), {});
      return taken_by(selected(app_), checked_items(app_, defaults_file(app_), text));
    } catch (const ConfigError& e) {
      found_problem() = e;  // told later: help comes first
      return {};
    }
  }

 private:
  [[nodiscard]] std::vector<CLI::ConfigItem> taken_by(const CLI::App& command,
                                                      std::vector<CLI::ConfigItem> items) const {
    const auto sections = [](const CLI::ConfigItem& i) { return i.parents.size(); };
    std::ranges::stable_sort(items, std::greater<>(), sections);  // the narrowest first
    std::vector<CLI::ConfigItem> given;
    for (CLI::ConfigItem& item : items) {
      const Meant meant = options_of(app_, "", apart(item.fullname()));
      const auto at = std::ranges::find(meant.commands, &command);
      if (at == meant.commands.end()) continue;
      const CLI::Option& option =
          *meant.options[static_cast<std::size_t>(at - meant.commands.begin())];
      if (gives_way(command, option) || !taken().insert(&option).second) continue;
      const bool is_list = option.get_expected_max() > 1 || option.get_delimiter() != '\0';
      if (item.inputs.size() > 1 && !is_list)
        item.inputs = {fmt::format("{}", fmt::join(item.inputs, ","))};
      item.parents = CLI::detail::split(name_of(command), ' ');
      given.push_back(std::move(item));
    }
    return given;
  }

  CLI::App& app_;
};

}  // namespace

void take_option_defaults(CLI::App& app) {
  const Location file = option_defaults_file();
  app.config_formatter(std::make_shared<Defaults>(app));
  app.set_config("--config", file.path)->group("");
  std::error_code error;
  if (file.variable != "PLEAT_CONFIG" || file.path.empty()) return;
  if (std::filesystem::is_regular_file(file.path, error)) return;
  found_problem() = ConfigError({wrong(file.path, "", "is no file, and PLEAT_CONFIG names it",
                                       "PLEAT_CONFIG= is no file of defaults at all")});
}

const std::optional<ConfigError>& defaults_problem() { return found_problem(); }

std::vector<std::string> taken_defaults() {
  std::vector<std::string> names;
  for (const CLI::Option* option : taken()) names.push_back("--" + option->get_lnames().front());
  std::ranges::sort(names);
  return names;
}

bool is_typed(const CLI::Option& option) {
  return option.count() > 0 && !taken().contains(&option);
}

std::string defaults_file(const CLI::App& app) { return app.get_config_ptr()->as<std::string>(); }

std::vector<OptionDefault> read_defaults(CLI::App& app, const std::string& file,
                                         const std::string& text) {
  const std::vector<CLI::ConfigItem> items = checked_items(app, file, text);
  std::vector<OptionDefault> list;
  for (const CLI::ConfigItem& item : items) {
    OptionDefault one{.key = item.fullname(),
                      .value = fmt::format("{}", fmt::join(item.inputs, ","))};
    one.line = line_of(text, one.key);
    for (const CLI::App* command : options_of(app, file, apart(one.key)).commands)
      one.commands.push_back(name_of(*command));
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<CLI::Option*> options_of_key(CLI::App& app, const std::string& key) {
  Meant meant = options_of(app, "", apart(key));
  if (meant.problem) throw ConfigError({*meant.problem});
  return std::move(meant.options);
}

}  // namespace pleat::cli
