// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/pin_options.hpp"

#include <CLI/CLI.hpp>

#include "application/request/typed_fields.hpp"
#include "cli/option_choices.hpp"
#include "cli/pin_numbers.hpp"

namespace pleat::cli {
namespace {

const char* const kPins = "Pins";

// A search that is free tries both values; a fixed field keeps its own, so that "any" says more.
void add_switch_pin(CLI::App& command, const std::string& name, std::vector<std::string>& words,
                    const std::string& help, bool is_fixed) {
  if (is_fixed) {
    command.add_option(name, words, help)
        ->delimiter(',')
        ->check(offers({"on", "off", "any"}))
        ->group(kPins);
  } else {
    command
        .add_option_function<std::string>(
            name, [&words](const std::string& word) { words = {word}; }, help)
        ->check(offers({"on", "off"}))
        ->group(kPins);
  }
}

// One at a time: a text may have commas of its own.
void add_text_pin(CLI::App& command, const std::string& name, std::vector<std::string>& words,
                  const std::string& help) {
  command.add_option(name, words, help)->expected(1)->take_all()->group(kPins);
}

void add_choice_pin(CLI::App& command, const std::string& name, std::vector<std::string>& words,
                    const std::string& help, const std::vector<std::string>& choices) {
  command.add_option(name, words, help)->delimiter(',')->check(offers(choices))->group(kPins);
}

// Numbers and ranges of them, with commas between.
void add_numbers(CLI::App& command, const std::string& name, std::vector<int>& values, int least,
                 int most, const std::string& help) {
  const auto read = [&values, name, least, most](const std::vector<std::string>& words) {
    values = parse_numbers(words, name, least, most);
  };
  command.add_option_function<std::vector<std::string>>(name, read, help)
      ->delimiter(',')
      ->type_name("INT|RANGE")
      ->group(kPins);
}

}  // namespace

void add_pin_options(CLI::App& command, PinWords& given) {
  for_each_pin([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    const std::string name = "--" + std::string(field.pin_flag());
    const std::string help = help_text(field, field.pinned.help, "and");
    auto& values = std::get<i>(given.by_row);
    if constexpr (std::is_same_v<Value, int>) {
      add_numbers(command, name, values, field.pinned.least, field.pinned.most, help);
    } else if constexpr (std::is_same_v<Value, bool>) {
      add_switch_pin(command, name, values, help, field.chosen_by == ChosenBy::fixed);
    } else if constexpr (std::is_same_v<Value, std::string>) {
      add_text_pin(command, name, values, help);
    } else {
      add_choice_pin(command, name, values, help, offered_words(field));
    }
  });
}

}  // namespace pleat::cli
