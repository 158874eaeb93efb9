// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Names of plan values as they are typed: "mxfp8", "zero1", "moe_act,layernorm". A wrong one is a
// ConfigError (bad_request) that lists the right ones.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/plan/plan_words.hpp"

namespace pleat {

struct Recompute {
  std::set<Module> modules;
  bool full = false;
  int layers = 0;  // full: of each chunk; 0: all
};

// `flag` is what the user typed it for, "--precision".
template <class Enum>
[[nodiscard]] Enum parse_choice(const std::string& word, const std::string& flag);
[[nodiscard]] Precision parse_precision(const std::string& word, const std::string& flag);
[[nodiscard]] Dispatcher parse_dispatcher(const std::string& word, const std::string& flag);
[[nodiscard]] Runtime parse_runtime(const std::string& word, const std::string& flag);
[[nodiscard]] DType parse_state_type(const std::string& word, const std::string& flag);
// "none", "full", "full:3", or module names with commas or plus signs between.
[[nodiscard]] Recompute parse_recompute(const std::string& words, const std::string& flag);
// "none", or module names with commas or plus signs between.
[[nodiscard]] std::set<Offload> parse_offload(const std::string& words, const std::string& flag);

[[nodiscard]] std::string name_of_runtime(Runtime);

// Names that the functions above take beside those of single choices, as completion offers them.
[[nodiscard]] std::vector<std::string> runtime_words();
[[nodiscard]] std::vector<std::string> recompute_words();
[[nodiscard]] std::vector<std::string> offload_words();

// Refuses with the words that there are and the nearest one.
[[noreturn]] void refuse_word(const std::string& word, const std::string& flag,
                              const std::vector<std::string>& words);

// Words of other programs for the same choice: Megatron's.
template <class Enum>
[[nodiscard]] std::optional<Enum> other_word(const std::string& word) {
  if constexpr (std::is_same_v<Enum, OptimizerKind>) {
    if (word == "adam") return OptimizerKind::adamw;
  } else if constexpr (std::is_same_v<Enum, CpComm>) {
    if (word == "a2a") return CpComm::all_to_all;
  }
  return std::nullopt;
}

template <class Enum>
Enum parse_choice(const std::string& word, const std::string& flag) {
  if (const auto other = other_word<Enum>(word)) return *other;
  const std::vector<std::string> words = words_of<Enum>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  refuse_word(word, flag, words);
}

}  // namespace pleat
