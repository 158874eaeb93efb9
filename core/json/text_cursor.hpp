// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Follows a JSON parser through its text: the parser reports tokens in order but not where they
// begin, so the cursor walks over the same tokens and keeps line and column.
#pragma once

#include <string_view>

#include "core/json/json_value.hpp"

namespace pleat {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text, int first_line = 1)
      : text_(text), position_{first_line, 1} {
    if (text_.starts_with("\xEF\xBB\xBF")) offset_ = 3;  // byte order mark
  }

  // Moves to the first character of the next token.
  void skip_separators() {
    while (offset_ < text_.size() && is_separator(text_[offset_])) step();
  }
  void step() {
    const char c = text_[offset_++];
    if (c == '\n') {
      position_ = {position_.line + 1, 1};
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {  // not inside a UTF-8 character
      ++position_.column;
    }
  }
  void move_to(std::size_t offset) {
    while (offset_ < offset && offset_ < text_.size()) step();
  }
  // Past a string that starts here, quotes included.
  void skip_string() {
    step();
    while (offset_ < text_.size() && text_[offset_] != '"') {
      if (text_[offset_] == '\\') step();
      if (offset_ < text_.size()) step();
    }
    if (offset_ < text_.size()) step();
  }
  // Past a number or a word that starts here.
  void skip_word() { move_to(offset_ + word().size()); }

  // The number or word that starts here; empty at punctuation.
  [[nodiscard]] std::string_view word() const {
    std::size_t end = offset_;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(offset_, end - offset_);
  }
  [[nodiscard]] Position position() const { return position_; }
  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] bool at_end() const { return offset_ >= text_.size(); }
  [[nodiscard]] char here() const { return at_end() ? '\0' : text_[offset_]; }

 private:
  static bool is_separator(char c) {
    return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\r' || c == '\t';
  }
  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '-' || c == '.' || c == '_';
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  Position position_{1, 1};
};

}  // namespace pleat
