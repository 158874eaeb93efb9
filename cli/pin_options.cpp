// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/pin_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "application/request/typed_fields.hpp"
#include "cli/option_choices.hpp"

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

namespace {

constexpr std::size_t kMostNumbers = 4096;  // of a pin

std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

std::vector<int> parse_numbers(const std::vector<std::string>& words, const std::string& flag,
                               int least, int most) {
  std::vector<int> numbers;
  for (const std::string& word : words) {
    const std::size_t dots = word.find("..");
    const auto first = whole_number(word.substr(0, dots));
    const auto last = dots == std::string::npos ? first : whole_number(word.substr(dots + 2));
    if (!first || !last) {
      throw CLI::ValidationError(
          flag, fmt::format("'{}' is neither a whole number nor a range such as 2..8", word));
    }
    if (*first < least || *last > most || *first > most) {
      throw CLI::ValidationError(
          flag, fmt::format("Value {} not in range [{} - {}]", word, least, most));
    }
    if (*last < *first) {
      throw CLI::ValidationError(
          flag, fmt::format("the range {} is empty: {}..{}?", word, *last, *first));
    }
    if (static_cast<std::size_t>(*last - *first) >= kMostNumbers - numbers.size()) {
      throw CLI::ValidationError(flag, fmt::format("more than {} numbers", kMostNumbers));
    }
    for (int n = *first; n <= *last; ++n) {
      if (std::ranges::find(numbers, n) == numbers.end()) numbers.push_back(n);
    }
  }
  return numbers;
}

}  // namespace pleat::cli
