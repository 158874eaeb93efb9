// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Strict JSON: no duplicate keys, no NaN, no integer beyond 64 bits, bounded size and depth.
#pragma once

#include <string>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"

namespace pleat {

inline constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;
inline constexpr int kMaxJsonDepth = 64;
inline constexpr std::size_t kMaxJsonString = std::size_t{1} << 20;
inline constexpr std::size_t kMaxJsonItems = 1'000'000;   // of one array or object
inline constexpr std::size_t kMaxJsonValues = 4'000'000;  // of one document

struct JsonOptions {
  // NaN, Infinity and -Infinity become doubles instead of errors (Hugging Face files have them in
  // fields nobody reads); the typed getters of ObjectReader reject them wherever they are read.
  bool allow_non_finite = false;
  // Members of one key stay, in their order; find() gives the first. To mend what was written
  // wrongly.
  bool allow_duplicate_keys = false;
  std::size_t max_bytes = kMaxFileBytes;  // headers of weights and vocabularies are larger
  int first_line = 1;  // number of the text's first line in its file, where that has a value a line
};

// Throws ConfigError (exit code bad_file) naming every problem with line and column.
[[nodiscard]] JsonValue parse_json(const std::string& text, const std::string& file_name,
                                   JsonOptions options = {});

// "plan.json:12:7"; just the file name for a value that was not read from a file.
[[nodiscard]] std::string where_of(const std::string& file_name, Position position);

}  // namespace pleat
