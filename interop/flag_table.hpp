// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The flags of Megatron-LM's command line at one commit, with types and choices
// (configs/interop/megatron-lm.json), and the reading of argument lists with this table.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::interop {

enum class FlagType { on, off, on_or_off, integer, number, text, list };

struct Flag {
  FlagType type = FlagType::text;
  std::string dest;  // the member it sets, "tensor_model_parallel_size"
  std::vector<std::string> choices;
  std::string at;  // where Megatron-LM defines it, "training/arguments.py:3103"
};

struct FlagTable {
  std::string version;
  std::map<std::string, Flag> flags;  // by name, "--bf16"
};

// Reads the table from the configs directory. Throws ConfigError if it is missing or wrong.
[[nodiscard]] FlagTable load_flag_table();

// Values by the member that holds them in Megatron-LM: "True", "False", a number or a word, as
// text. A list has several.
using Arguments = std::map<std::string, std::vector<std::string>>;

// Arguments that were read with a table. `problems` has a line for each flag that is unknown, lacks
// its value or has one of the wrong type.
struct ReadArguments {
  Arguments values;
  std::vector<std::string> problems;
  std::map<std::string, std::string> spelled{};  // by member, the flag as it was given
  std::vector<std::string> strangers{};          // flags that are not in the table
  // By member, why its value cannot be had: "'x' is not a whole number", "$TP is not set".
  std::map<std::string, std::string> bad{};
};
[[nodiscard]] ReadArguments read_arguments(const std::vector<std::string>& words, const FlagTable&);

// The words of a shell file or command line, without quotes, backslashes and comments. The words
// within "NAME=( … )" and "export X=Y" are kept. Nothing is expanded or run.
[[nodiscard]] std::vector<std::string> shell_words(const std::string& text);

// The values of a list as logs print it, "['core_attn', 'moe']". Any other text is one value.
[[nodiscard]] std::vector<std::string> python_values(const std::string& text);

// The numbers that "([0]*3+[1]*58)" or "[1,1,0]*4" stands for. Throws ConfigError (bad_file, at
// `path`) for other texts and for more than `limit` numbers.
[[nodiscard]] std::vector<int> parse_pattern(const std::string& text, std::size_t limit,
                                             const std::string& path);

// Reads arguments as values of a type, and collects every problem.
class ArgumentReader {
 public:
  ArgumentReader(const Arguments& values, std::string where, Diagnostics& problems)
      : values_(values), where_(std::move(where)), problems_(problems) {}

  // Nothing where the argument is missing, empty or None.
  [[nodiscard]] std::optional<std::string> text(const std::string& member) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& member) const;
  // From 0 to `most`; a problem for others.
  [[nodiscard]] std::optional<std::int64_t> integer(
      const std::string& member, std::int64_t most = std::int64_t{1} << 28) const;
  [[nodiscard]] std::optional<double> number(const std::string& member) const;
  [[nodiscard]] bool is_on(const std::string& member) const;   // given and true
  [[nodiscard]] bool is_off(const std::string& member) const;  // given and false
  [[nodiscard]] std::int64_t required(const std::string& member) const;
  void problem(const std::string& member, std::string message, std::string hint = {}) const;
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] Diagnostics& problems() const { return problems_; }
  // Members that somebody wanted to know.
  [[nodiscard]] const std::set<std::string>& asked() const { return asked_; }

 private:
  const Arguments& values_;
  std::string where_;
  Diagnostics& problems_;
  mutable std::set<std::string> asked_;
};

}  // namespace pleat::interop
