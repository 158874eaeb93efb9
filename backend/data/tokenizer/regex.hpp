// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Regular expressions over UTF-8 as tokenizer.json files have them: the part of Oniguruma's syntax
// that PCRE2 shares or that can be translated. What would mean something else is refused.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pleat {

struct Match {
  std::size_t begin = 0, end = 0;  // bytes
};

class Regex {
 public:
  // Throws ConfigError (bad_file) naming `where` and `path` when the pattern is not understood.
  Regex(const std::string& pattern, const std::string& where, const std::string& path);
  // Matches exactly this text, which is not empty.
  [[nodiscard]] static Regex literal(std::string_view text);

  // The first match that begins at `from` or later. `text` must be valid UTF-8. Threads may share a
  // Regex.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Code;
  Regex() = default;
  std::shared_ptr<const Code> code_;
};

}  // namespace pleat
