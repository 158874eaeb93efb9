// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of the table of a plan's fields as options: what one is called, offers and takes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "application/request/plan_values.hpp"
#include "core/plan/plan_table.hpp"

namespace pleat {

// The words that completion offers; none: any value.
template <class Field>
[[nodiscard]] std::vector<std::string> offered_words(const Field& field) {
  using Value = typename Field::Value;
  std::vector<std::string> words;
  if constexpr (requires { field.domain.offered; }) {
    for (std::size_t i = 0; i < field.domain.offered; ++i) {
      words.emplace_back(name_of(field.domain.types[i]));
    }
  } else if constexpr (std::is_enum_v<Value>) {
    words = words_of<Value>();
  } else if constexpr (std::is_same_v<Value, std::set<Module>>) {
    words = recompute_words();
  } else if constexpr (std::is_same_v<Value, std::set<Offload>>) {
    words = offload_words();
  }
  return words;
}

// "none, zero1, zero2 or zero3", with `last` before the last one.
[[nodiscard]] inline std::string listed(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? std::string(" ") + last + " " : ", ";
    text += words[i];
  }
  return text;
}

// `text` of the row, with the words of a choice in it, `last` before the last one.
template <class Field>
[[nodiscard]] std::string help_text(const Field& field, std::string_view text,
                                    const char* last = "or") {
  std::string help(text);
  if (const auto at = help.find("{}"); at != std::string::npos) {
    help.replace(at, 2, listed(offered_words(field), last));
  }
  return help;
}

// The value that a word stands for. ConfigError (bad_request) where it stands for none.
template <class Enum>
requires std::is_enum_v<Enum>
void parse_value(const std::string& word, const std::string& flag, Enum& value) {
  value = parse_choice<Enum>(word, flag);
}
inline void parse_value(const std::string& word, const std::string& flag, DType& value) {
  value = parse_state_type(word, flag);
}
inline void parse_value(const std::string& word, const std::string& flag,
                        std::optional<DType>& value) {
  value = parse_state_type(word, flag);
}
inline void parse_value(const std::string& words, const std::string& flag,
                        std::set<Offload>& value) {
  value = parse_offload(words, flag);
}
inline void parse_value(const std::string& word, const std::string&, std::string& value) {
  value = word;
}

}  // namespace pleat
