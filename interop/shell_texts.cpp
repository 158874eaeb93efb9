// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Texts of a script: parts of them that are not known, and patterns that they match.
#include "interop/shell_script.hpp"
#include "interop/shell_state.hpp"
#include "interop/shell_tokens.hpp"

namespace pleat::interop {

std::string unknown_value(std::string_view what) {
  std::string out(1, kUnknownBegin);
  for (const char c : what.substr(0, 60)) out += is_shell_name(c) || c == '.' || c == '-' ? c : '_';
  return out + kUnknownEnd;
}

std::string unknown_part(std::string_view word) {
  const std::size_t at = word.find(kUnknownBegin);
  if (at == std::string_view::npos) return "";
  const std::size_t end = word.find(kUnknownEnd, at);
  return std::string(word.substr(at + 1, end == std::string_view::npos ? end : end - at - 1));
}

std::string known_part(std::string_view word) {
  std::string out;
  bool inside = false;
  for (const char c : word) {
    if (c == kUnknownBegin) inside = true;
    if (!inside) out += c;
    if (c == kUnknownEnd) inside = false;
  }
  return out;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  const auto one = [&](std::size_t& next) {
    if (p >= pattern.size()) return false;
    next = p + 1;
    if (pattern[p] == '?') return true;
    if (pattern[p] == '[') {
      const std::size_t close = pattern.find(']', p + 1);
      if (close != std::string_view::npos) {
        next = close + 1;
        return pattern.substr(p + 1, close - p - 1).find(text[t]) != std::string_view::npos;
      }
    }
    return pattern[p] == text[t];
  };
  while (t < text.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (one(next)) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace pleat::interop
