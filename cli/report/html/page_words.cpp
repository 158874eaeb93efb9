// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/page_words.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace pleat::cli {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool stands_in(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    std::size_t end = at + name.size();
    if (end < text.size() && text[end] == 's') ++end;  // several of them
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return std::string(text);
}

// Without marks of code and emphasis.
std::string plain(std::string_view cell) {
  std::string out;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '`' || cell[i] == '*') continue;
    if (cell[i] == '\\' && i + 1 < cell.size()) ++i;
    out += cell[i];
  }
  return trimmed(out);
}

// "global batch (GBS)" is known by both; "tier (of a cluster)" by "tier".
std::vector<std::string> names_of(const std::string& word) {
  std::vector<std::string> names;
  std::string name;
  const auto end_name = [&] {
    name = trimmed(name);
    if (name.size() > 1 && name.front() != '-' && !name.starts_with("of ")) names.push_back(name);
    name.clear();
  };
  for (const char c : word) {
    if (c == ',' || c == '(' || c == ')') {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return names;
}

bool uses(const std::string& text, const Word& word) {
  for (std::string name : names_of(word.word)) {
    if (stands_in(text, name)) return true;
    name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
    if (stands_in(text, name)) return true;
  }
  return false;
}

// Cells of "| word | meaning |"; an escaped bar is part of one.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::size_t begin = 1;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '|' || line[i - 1] == '\\') continue;
    cells.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  return cells;
}

}  // namespace

std::vector<Word> words_used(std::string_view glossary, const std::string& text) {
  std::vector<Word> used;
  while (!glossary.empty()) {
    const std::string_view line = glossary.substr(0, glossary.find('\n'));
    glossary.remove_prefix(std::min(glossary.size(), line.size() + 1));
    if (!line.starts_with("| ")) continue;
    const auto cells = cells_of(line);
    if (cells.size() != 2) continue;
    Word word{plain(cells[0]), plain(cells[1])};
    if (word.word != "word" && uses(text, word)) used.push_back(std::move(word));
  }
  return used;
}

}  // namespace pleat::cli
