// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Makes the positioned tree from a parser's tokens, and the checks that are no matter of syntax:
// duplicate keys, depth, sizes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"

namespace pleat {

class TreeBuilder {
 public:
  TreeBuilder(const std::string& file, bool allow_duplicate_keys, Diagnostics& problems)
      : file_(file), allow_duplicate_keys_(allow_duplicate_keys), problems_(problems) {}

  // --- tokens, with where they begin; false: the document is given up, and says why
  bool value(JsonValue value, Position at);
  bool text(std::string text, Position at);
  bool key(std::string name, Position at);
  bool open(bool is_array, Position at);
  bool close();

  // A problem with the value that is being read.
  void error(Position at, std::string message, std::string hint = {});

  JsonValue root;

 private:
  // An object or array that is open. What it has so far is at the end of members_ or items_.
  struct Frame {
    bool is_array;
    Position position;
    std::size_t begin;
    std::string key = {};
    Position key_position = {};
    std::unordered_map<std::string, Position> keys = {};  // of an object that has many
  };

  bool check_length(std::string_view text, Position at);
  bool attach(JsonValue value);
  [[nodiscard]] std::string path() const;
  std::optional<Position> earlier(std::string_view name, Position at);

  const std::string& file_;
  bool allow_duplicate_keys_;
  Diagnostics& problems_;
  std::vector<Frame> frames_;
  std::vector<JsonMember> members_;  // of the open objects, those of the innermost last
  std::vector<JsonValue> items_;     // of the open arrays
  std::size_t values_ = 0;
};

// Text from a file in a message: short, and without control characters that a terminal would obey.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit);

}  // namespace pleat
