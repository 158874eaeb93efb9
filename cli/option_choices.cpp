// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/option_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace pleat::cli {
namespace {

const std::string kChoices = "choices ";
constexpr std::array kConfigs{ConfigKind::model, ConfigKind::cluster, ConfigKind::profile};

std::string name_of_configs(ConfigKind kind) {
  return fmt::format("configs {}", static_cast<int>(kind));
}

std::string name_of_choices(const std::vector<std::string>& words) {
  return kChoices + fmt::format("{}", fmt::join(words, " "));
}

CLI::Validator silent(std::string name) {
  return CLI::Validator([](std::string&) { return std::string(); }, "", std::move(name));
}

void append(std::vector<std::string>& words, const CLI::Validator& v) {
  const std::string& name = v.get_name();
  const std::string shown = v.get_description();
  const auto add = [&](const std::string& list, char delimiter) {
    for (const std::string& word : CLI::detail::split(list, delimiter)) words.push_back(word);
  };
  for (const ConfigKind kind : kConfigs) {
    if (name == name_of_configs(kind)) {
      for (const std::string& config : config_names(kind)) words.push_back(config);
    }
  }
  if (name.starts_with(kChoices)) {
    add(name.substr(kChoices.size()), ' ');
  } else if (shown.starts_with("{") && shown.ends_with("}")) {  // of CLI::IsMember
    add(shown.substr(1, shown.size() - 2), ',');
  }
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& words) {
  CLI::Validator v = CLI::IsMember(words);
  return v.description("").name(name_of_choices(words));
}

CLI::Validator offers(const std::vector<std::string>& words) {
  return silent(name_of_choices(words));
}

CLI::Validator offers_configs(ConfigKind kind) { return silent(name_of_configs(kind)); }

std::vector<std::string> choices_of(CLI::Option& option) {
  std::vector<std::string> words;
  try {  // an option does not say how many validators it has
    for (int i = 0;; ++i) append(words, *option.get_validator(i));
  } catch (const CLI::OptionNotFound&) {
    return words;
  }
}

}  // namespace pleat::cli
