// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/list_entries.hpp"

#include <algorithm>

namespace pleat::cli {
namespace {

// One entry of nothing alone is no list: what it means is the option's own.
bool has_empty_entry(std::string list) {
  if (list.size() >= 2 && list.front() == '[' && list.back() == ']') {
    list = list.substr(1, list.size() - 2);
  }
  return list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string::npos;
}

void check(const CLI::Option& option, const std::string& value) {
  if (option.get_delimiter() != ',' || !has_empty_entry(value)) return;
  throw CLI::ValidationError(option.get_name(), "'" + value + "' has an empty entry");
}

const CLI::App* command_of(const CLI::App& app, const std::string& word) {
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([&](const CLI::App* c) { return c->get_name() == word; });
  return commands.empty() ? nullptr : commands.front();
}

// The option and what of the word is its value: "--tp=1" or "-c1".
struct Typed {
  const CLI::Option* option = nullptr;
  std::string value;
};

Typed typed(const CLI::App& command, const std::string& word) {
  const bool is_long = word.starts_with("--");
  const std::size_t name = is_long ? std::min(word.find('='), word.size()) : 2;
  const std::size_t value = is_long ? std::min(name + 1, word.size()) : name;
  return {command.get_option_no_throw(word.substr(0, name)), word.substr(value)};
}

}  // namespace

void refuse_empty_entries(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  const CLI::Option* option = nullptr;  // the last one typed
  for (const std::string& word : words) {
    if (word == "--") return;  // no option behind it
    if (word.size() > 1 && word.front() == '-') {
      const Typed now = typed(*command, word);
      option = now.option;
      if (option != nullptr) check(*option, now.value);
    } else if (option != nullptr && option->get_items_expected_max() > 0) {
      check(*option, word);
    } else if (const CLI::App* const inner = command_of(*command, word)) {
      command = inner;
    }
  }
}

}  // namespace pleat::cli
