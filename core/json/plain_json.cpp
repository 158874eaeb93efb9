// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/json/plain_json.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace pleat {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Bytes of the character of UTF-8 that begins here; 0 if none does. As RFC 3629 has it: no form
// longer than need be, no surrogates, none above U+10FFFF.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto in = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (in(0, 0xC2, 0xDF)) return in(1, 0x80, 0xBF) ? 2 : 0;
  if (in(0, 0xE0, 0xEF)) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80, high = first == 0xED ? 0x9F : 0xBF;
    return in(1, low, high) && in(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (in(0, 0xF0, 0xF4)) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80, high = first == 0xF4 ? 0x8F : 0xBF;
    return in(1, low, high) && in(2, 0x80, 0xBF) && in(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

void append_character(std::string& out, unsigned c) {  // at most U+FFFF
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

class PlainReader {
 public:
  PlainReader(std::string_view text, TreeBuilder& builder) : text_(text), builder_(builder) {}

  PlainJson document() {
    for (;;) {
      if (!value()) return outcome_;
      // A value has ended, and with it the containers that end here.
      for (;;) {
        skip_blanks();
        if (open_.empty()) return at_ == text_.size() ? PlainJson::read : PlainJson::strange;
        if (here() == ',') {
          ++at_;
          skip_blanks();
          if (!open_.back() && !key()) return outcome_;
          break;
        }
        if (here() != (open_.back() ? ']' : '}')) return PlainJson::strange;
        if (!close()) return outcome_;
      }
    }
  }

 private:
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] Position position() const {
    return {line_, static_cast<int>(at_ - line_begin_ - continued_) + 1};
  }
  // What the builder answers.
  bool done(bool goes_on) {
    if (!goes_on) outcome_ = PlainJson::stopped;
    return goes_on;
  }

  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
        continued_ = 0;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  // Up to the end of a value: the first in a container that begins here is looked for, too.
  bool value() {
    for (;;) {
      skip_blanks();
      const char c = here();
      if (c == '{' || c == '[') {
        if (!done(builder_.open(c == '[', position()))) return false;
        open_.push_back(c == '[');
        ++at_;
        skip_blanks();
        if (here() == (c == '[' ? ']' : '}')) return close();
        if (c == '{' && !key()) return false;
        continue;
      }
      const Position at = position();
      if (c == '"') {
        const auto text = string();
        return text && done(builder_.text(*text, at));
      }
      if (c == '-' || is_decimal(c)) return number(at);
      if (word("true")) return done(builder_.value(JsonValue(true), at));
      if (word("false")) return done(builder_.value(JsonValue(false), at));
      return word("null") && done(builder_.value(JsonValue(), at));
    }
  }

  bool close() {
    ++at_;
    open_.pop_back();
    return done(builder_.close());
  }

  bool key() {
    const Position at = position();
    if (here() != '"') return false;
    const auto name = string();
    if (!name || !done(builder_.key(*name, at))) return false;
    skip_blanks();
    if (here() != ':') return false;
    ++at_;
    return true;
  }

  bool word(std::string_view w) {
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }

  std::size_t digits() {
    const std::size_t begin = at_;
    while (is_decimal(here())) ++at_;
    return at_ - begin;
  }

  bool number(Position at) {
    const std::size_t begin = at_;
    if (here() == '-') ++at_;
    const bool zero = here() == '0';
    const std::size_t whole = digits();
    if (whole == 0 || (zero && whole > 1)) return false;
    bool integer = true;
    if (here() == '.') {
      integer = false;
      ++at_;
      if (digits() == 0) return false;
    }
    if (here() == 'e' || here() == 'E') {
      integer = false;
      ++at_;
      if (here() == '+' || here() == '-') ++at_;
      if (digits() == 0) return false;
    }
    const char* const first = text_.data() + begin;
    const char* const last = text_.data() + at_;
    if (integer) {
      std::int64_t value = 0;
      return std::from_chars(first, last, value).ec == std::errc() &&
             done(builder_.value(JsonValue(value), at));
    }
    double value = 0;
    return std::from_chars(first, last, value).ec == std::errc() &&
           done(builder_.value(JsonValue(value), at));
  }

  // The text of a string that begins here; valid until the next.
  std::optional<std::string_view> string() {
    ++at_;
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') return text_.substr(begin, at_++ - begin);
      if (c == '\\' || static_cast<signed char>(c) < ' ') break;  // what is not ASCII is below 0
    }
    unescaped_.assign(text_.substr(begin, at_ - begin));
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        if (!escape()) return std::nullopt;
        continue;
      }
      const std::size_t bytes = utf8_length(text_.substr(at_));
      if (bytes == 0 || (bytes == 1 && text_[at_] < ' ')) return std::nullopt;
      unescaped_.append(text_.substr(at_, bytes));
      at_ += bytes;
      continued_ += bytes - 1;
    }
    if (at_ == text_.size()) return std::nullopt;
    ++at_;
    return unescaped_;
  }

  bool escape() {
    ++at_;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (const auto i = kNames.find(here()); at_ < text_.size() && i != std::string_view::npos) {
      unescaped_ += kMeant[i];
      ++at_;
      return true;
    }
    if (here() != 'u' || text_.size() - at_ < 5) return false;
    unsigned c = 0;
    const char* const first = text_.data() + at_ + 1;
    if (std::from_chars(first, first + 4, c, 16).ptr != first + 4) return false;
    if (c >= 0xD800 && c <= 0xDFFF) return false;  // half of a character
    append_character(unescaped_, c);
    at_ += 5;
    return true;
  }

  std::string_view text_;
  TreeBuilder& builder_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::size_t line_begin_ = 0;
  std::size_t continued_ = 0;  // bytes of this line that do not begin a character
  std::vector<bool> open_;     // the containers, whether they are arrays
  std::string unescaped_;
  PlainJson outcome_ = PlainJson::strange;
};

}  // namespace

PlainJson read_plain_json(std::string_view text, TreeBuilder& builder) {
  return PlainReader(text, builder).document();
}

}  // namespace pleat
