// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The variables of a script that is followed, and the expansion of words with them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pleat::interop {

inline constexpr std::size_t kShellWord = 16;  // characters that a word counts as in itself

class ShellState {
 public:
  using Items = std::vector<std::pair<std::string, std::string>>;  // by index or key

  void set(const std::string& name, std::string value);
  void append(const std::string& name, const std::string& value);
  void set_items(const std::string& name, Items items, bool more);
  void refer(const std::string& name, const std::string& to) { references_[name] = to; }
  void unset(const std::string& name);
  void forget(const std::string& name);  // it has a value, but nobody knows which
  // Nothing where it is not set.
  [[nodiscard]] const Items* items(const std::string& name) const;
  [[nodiscard]] std::string value(const std::string& name) const;    // unknown where not set
  [[nodiscard]] std::optional<Items> copy(const std::string& name);  // spent
  [[nodiscard]] std::map<std::string, std::string> all() const;

  std::vector<std::string> positional;  // $1, $2, …
  std::string printed_by_yq;

  // Counts what a script makes; throws ConfigError where that is more than any script needs.
  // Expansions count themselves. In characters.
  void spend(std::size_t characters);
  [[nodiscard]] ShellState snapshot();  // spent
  void restore(ShellState before);      // all but what is spent

  // A word's expansion, cut at blanks outside of quotes. Sets variables that "${X:=1}" sets.
  [[nodiscard]] std::vector<std::string> words(std::string_view raw);
  // The same as one word, as in assignments.
  [[nodiscard]] std::string word(std::string_view raw);
  [[nodiscard]] std::string heredoc(std::string_view text);  // no quotes in it
  // Nothing where a part is not known or it is no expression.
  [[nodiscard]] std::optional<std::int64_t> arithmetic(std::string_view expression);
  // "i = 0", "i++" or "i += 2". False where it is not known, or none of these.
  bool count(std::string_view assignment);

 private:
  class Build;
  void expand(std::string_view raw, bool quoted, Build&);
  std::size_t dollar(std::string_view raw, std::size_t at, bool quoted, Build&);
  void parameter(std::string_view inside, bool quoted, Build&);
  std::string replaced(std::string_view text, const std::string& from, const std::string& to,
                       bool every);
  void substitute(std::string_view command, bool quoted, Build&);
  // Of what is already expanded: arithmetic, and "X" or "X[INDEX]".
  [[nodiscard]] std::optional<std::int64_t> evaluate(const std::string& expression) const;
  void name_value(const std::string& name, const std::string& index, bool quoted, Build&);
  void spend(const Items& items);  // on a copy
  [[nodiscard]] const std::string& resolved(const std::string& name) const;

  std::map<std::string, Items> variables_;
  std::map<std::string, std::string> references_;
  std::size_t produced_ = 0;
  int depth_ = 0;
};

// For what nobody knows: its variable's name or a program's, without what a shell would read.
[[nodiscard]] std::string unknown_value(std::string_view what);

// Whether the words between [ and ] hold.
[[nodiscard]] bool condition_holds(const std::vector<std::string>& words, const ShellState&);

// Whether a text matches a pattern of `case` and [[ ]]: *, ?, [abc], alternatives outside.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace pleat::interop
