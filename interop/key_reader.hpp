// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A configuration as a tree of keys (TOML, YAML, JSON), read by dotted paths, and what becomes of
// the keys that nobody reads (unread_table.hpp).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "interop/unread_table.hpp"

namespace pleat::interop {

// Every scalar as text: "true", "8", "5e8".
[[nodiscard]] JsonValue as_text(const JsonValue&);

// Empty where there is no value, or no text.
[[nodiscard]] std::string word_of(const JsonValue*);

// Writes a value at "a.b.c".
void set_at(JsonValue& tree, const std::string& path, JsonValue value);

class KeyReader {
 public:
  KeyReader(const JsonValue& tree, std::string where, Diagnostics& problems)
      : tree_(tree), where_(std::move(where)), problems_(problems) {}

  // Null where the key is missing or null. A path that was looked for counts as read.
  [[nodiscard]] const JsonValue* find(const std::string& path) const;
  // Nothing where the value is missing, null, empty, "None" or "auto".
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  // Whole numbers from 0 to `most`, also as "5e8"; a problem for others.
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& path,
                                                    std::int64_t most = std::int64_t{1}
                                                                        << 31) const;
  [[nodiscard]] std::optional<double> number(const std::string& path) const;
  [[nodiscard]] bool is_on(const std::string& path, bool otherwise = false) const;
  // From 1 to 2^20.
  [[nodiscard]] int degree(const std::string& path, int otherwise = 1) const;
  // A value by its word; a problem if there is none.
  template <class Value>
  Value choice(const std::string& path, Value otherwise,
               std::initializer_list<std::pair<const char*, Value>> words) const {
    const std::optional<std::string> word = text(path);
    if (!word) return otherwise;
    for (const auto& [name, value] : words)
      if (*word == name) return value;
    problem(path, "'" + *word + "' has no counterpart in a plan");
    return otherwise;
  }
  void problem(const std::string& path, std::string message, std::string hint = {}) const;
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] Diagnostics& problems() const { return problems_; }
  [[nodiscard]] const JsonValue& tree() const { return tree_; }
  [[nodiscard]] const std::set<std::string>& asked() const { return asked_; }

 private:
  const JsonValue& tree_;
  std::string where_;
  Diagnostics& problems_;
  mutable std::set<std::string> asked_;
};

// The keys of a tree that were not read: a line for each that changes a step and is not priced, and
// for each that is unknown; a problem, with the key's path, for each that is refused. A section
// with `enabled: false` or `enable: false` says nothing.
[[nodiscard]] std::vector<std::string> judge_keys(const JsonValue& tree,
                                                  const std::set<std::string>& asked,
                                                  const UnreadTable&, const std::string& where,
                                                  Diagnostics&);

}  // namespace pleat::interop
