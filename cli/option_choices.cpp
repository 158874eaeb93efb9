// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/option_choices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

std::vector<const CLI::Validator*> validators_of(CLI::Option& option) {
  std::vector<const CLI::Validator*> all;
  try {  // an option does not say how many it has
    for (int i = 0;; ++i) all.push_back(option.get_validator(i));
  } catch (const CLI::OptionNotFound&) {
    return all;
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
  for (const CLI::Validator* v : validators_of(option)) append(words, *v);
  return words;
}

bool takes_configs(CLI::Option& option) {
  const std::vector<const CLI::Validator*> all = validators_of(option);
  return std::any_of(all.begin(), all.end(), [](const CLI::Validator* v) {
    return std::any_of(kConfigs.begin(), kConfigs.end(),
                       [&](ConfigKind kind) { return v->get_name() == name_of_configs(kind); });
  });
}

}  // namespace pleat::cli
