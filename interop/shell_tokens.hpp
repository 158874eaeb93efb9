// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A shell script cut into words and operators. Words keep their quotes and dollars.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pleat::interop {

inline bool is_shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_shell_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_shell_name(char c) {
  return c == '_' || is_shell_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct ShellToken {
  enum class Kind : unsigned char { word, array, arithmetic, op, heredoc };
  Kind kind = Kind::word;
  std::string text;  // array: "NAME=" or "NAME+="; arithmetic: what is between (( and ))
  std::vector<std::string> items{};  // of an array, words as they are written
  bool literal = false;              // heredoc: nothing in it is expanded
};

// "NAME=…" or "NAME[…]+=…": the length of the name, 0 of other words.
[[nodiscard]] std::size_t assigned_name(std::string_view word);

// Comments, redirections and their targets are left out; a heredoc stands behind its command. What
// is not closed ends with the text.
[[nodiscard]] std::vector<ShellToken> shell_tokens(const std::string& text);

// Behind the quote, bracket or command substitution that begins at text[at].
[[nodiscard]] std::size_t after_quoted(std::string_view text, std::size_t at);

}  // namespace pleat::interop
