// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The command line of Megatron-LM at one commit: names, types and choices of its flags
// (configs/interop/megatron-lm.json), and argument lists read by it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::interop {

enum class FlagType { on, off, on_or_off, integer, number, text, list };

struct Flag {
  FlagType type = FlagType::text;
  std::string dest;  // the member it sets, "tensor_model_parallel_size"
  std::vector<std::string> choices;
  std::string at;  // "training/arguments.py:3103"
};

struct FlagTable {
  std::string version;
  std::map<std::string, Flag> flags;  // by name, "--bf16"
};

// From the configs directory. ConfigError if it is not there or wrong.
[[nodiscard]] FlagTable load_flag_table();

// Members and their values as text: "True", "False", a number, a word; lists have several.
using Arguments = std::map<std::string, std::vector<std::string>>;

// Flags read by a table. What is not in the table, has no value or the wrong type is in `problems`,
// one line each.
struct ReadArguments {
  Arguments values;
  std::vector<std::string> problems;
};
[[nodiscard]] ReadArguments read_arguments(const std::vector<std::string>& words, const FlagTable&);

// The words of a shell file or command line: quotes and backslashes are undone, comments dropped,
// "NAME=( … )" and "export X=Y" keep their words. Nothing is expanded or run.
[[nodiscard]] std::vector<std::string> shell_words(const std::string& text);

// "['core_attn', 'moe']" as logs print lists; a scalar is one value.
[[nodiscard]] std::vector<std::string> python_values(const std::string& text);

// "([0]*3+[1]*58)" or "[1,1,0]*4": at most `limit` numbers. ConfigError (bad_file) at `path`.
[[nodiscard]] std::vector<int> parse_pattern(const std::string& text, std::size_t limit,
                                             const std::string& path);

// Typed access to arguments, with every problem collected.

class ArgumentReader {
 public:
  ArgumentReader(const Arguments& values, std::string where, Diagnostics& problems)
      : values_(values), where_(std::move(where)), problems_(problems) {}

  // Absent, empty or None: nothing.
  [[nodiscard]] std::optional<std::string> text(const std::string& member) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& member) const;
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& member) const;
  [[nodiscard]] std::optional<double> number(const std::string& member) const;
  [[nodiscard]] bool is_on(const std::string& member) const;   // given and true
  [[nodiscard]] bool is_off(const std::string& member) const;  // given and false
  [[nodiscard]] std::int64_t required(const std::string& member) const;
  void problem(const std::string& member, std::string message, std::string hint = {}) const;

 private:
  const Arguments& values_;
  std::string where_;
  Diagnostics& problems_;
};

}  // namespace pleat::interop
