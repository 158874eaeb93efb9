// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/wrap.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

namespace pleat {
namespace {

constexpr std::array<std::string_view, 20> kUnits{
    "s",  "ms",   "us",  "h",    "min", "d",       "days", "GiB",    "MiB",      "KiB",
    "TB", "GB/s", "USD", "GPUs", "GPU", "TFLOP/s", "MWh",  "tokens", "tokens/s", "%"};

constexpr std::size_t kLongestChange = 60;  // of a line of 80 columns

bool ends_with_digit(const std::string& word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0;
}

bool is_unit(std::string word) {
  while (!word.empty() && std::string_view(".,;:()").find(word.back()) != std::string_view::npos) {
    word.pop_back();
  }
  return std::ranges::find(kUnits, word) != kUnits.end();
}

// "12 ms", and both sides of an arrow unless they are lists that would not fit.
bool belong_together(const std::string& left, const std::string& right) {
  if (ends_with_digit(left) && is_unit(right)) return true;
  return right == "->" || (left.ends_with("->") && left.size() + right.size() < kLongestChange);
}

// Lines as full as they get. `end` is added to all but the last.
std::string filled(const std::vector<std::string>& pieces, std::size_t columns,
                   const Indent& indent, const std::string& end = "") {
  std::string text, line = indent.first;
  bool is_empty = true;
  for (const std::string& piece : pieces) {
    const std::size_t width = shown_width(line) + (is_empty ? 0 : 1) + shown_width(piece);
    if (!is_empty && width + end.size() > columns) {
      text += line + end + '\n';
      line = indent.rest;
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + piece;
    is_empty = false;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return text + line + '\n';
}

void without_trailing_blanks(std::string& text) {
  while (text.ends_with(' ')) text.pop_back();
}

}  // namespace

std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    if (!words.empty() && belong_together(words.back(), word)) {
      words.back() += " " + word;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

std::string wrap_words(const std::string& text, std::size_t columns, const Indent& indent) {
  std::string wrapped;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    wrapped += filled(words_of(line), columns, indent);
  }
  return wrapped;
}

std::string wrap_long_lines(const std::string& text, std::size_t columns) {
  std::string wrapped;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string margin(std::min(line.find_first_not_of(' '), line.size()), ' ');
    wrapped += shown_width(line) <= columns ? line + '\n'
                                            : wrap_words(line, columns, {margin, margin + "    "});
  }
  return wrapped;
}

std::string wrap_fields(const std::vector<std::string>& fields, const std::string& separator,
                        std::size_t columns, const Indent& indent) {
  std::string mark = separator;
  without_trailing_blanks(mark);
  const std::size_t room = columns - std::min(columns, shown_width(indent.rest));
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string field = fields[i] + (i + 1 < fields.size() ? mark : "");
    if (shown_width(field) <= room) {
      pieces.push_back(field);
    } else {
      for (std::string& word : words_of(field)) pieces.push_back(std::move(word));
    }
  }
  return filled(pieces, columns, indent);
}

std::string wrap_command(const std::string& command, std::size_t columns, const Indent& indent) {
  std::vector<std::string> pieces;
  std::istringstream in(command);
  bool is_option = false;  // takes the next word as its value
  for (std::string word; in >> word;) {
    const bool starts = word.starts_with('-');
    if (!pieces.empty() && !starts && is_option) {
      pieces.back() += " " + word;
    } else {
      pieces.push_back(word);
    }
    is_option = starts;
  }
  return filled(pieces, columns, indent, " \\");
}

std::string facts_text(const std::vector<Fact>& facts, std::size_t columns,
                       const std::string& before) {
  std::size_t width = 0;
  for (const Fact& f : facts) {
    if (!f.fields.empty()) width = std::max(width, shown_width(f.name));
  }
  std::string text;
  for (const Fact& f : facts) {
    if (f.fields.empty()) continue;
    const std::string blanks(width + 2 - shown_width(f.name), ' ');
    text += wrap_fields(f.fields, f.separator, columns,
                        {before + f.name + blanks, before + std::string(width + 2, ' ')});
  }
  return text;
}

}  // namespace pleat
