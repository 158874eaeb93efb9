// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What happens to a text before it is cut into words, and how much longer it may become.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "backend/data/tokenizer/regex.hpp"
#include "backend/data/tokenizer/unicode.hpp"
#include "core/diagnostics.hpp"

namespace pleat {

// What happens to a text before it is cut into words.

struct LowerCase {};
struct StripAccents {};  // combining marks of every kind go
struct StripEnds {
  bool left = true, right = true;
};
struct Replace {
  Regex pattern;
  std::string content;
};
struct Prepend {
  std::string text;  // before a text that is not empty
};

using NormalizeStep =
    std::variant<NormalForm, LowerCase, StripAccents, StripEnds, Replace, Prepend>;

// The steps in order.
void apply_normalizer(const std::vector<NormalizeStep>&, std::string& text);

// How much longer a tokenizer's steps may make a text. Replacements that contain what later ones
// replace multiply: a few lines of tokenizer.json could ask for more memory than there is.

// NFKC makes a character at most 18 times as long; the shipped families' replacements, 3 times.
[[nodiscard]] inline std::size_t most_bytes_of(std::size_t text_bytes) {
  return 64 * text_bytes + (std::size_t{1} << 20);
}

// Throws ConfigError (bad_file); `section` is that of tokenizer.json.
inline void require_growth(std::size_t bytes, std::size_t most, const char* section) {
  if (bytes <= most) return;
  throw_config_error(ExitCode::bad_file, "tokenizer.json", section,
                     fmt::format("its replacements make a text longer than {} bytes", most),
                     "replacements that do not contain what they replace");
}

}  // namespace pleat
