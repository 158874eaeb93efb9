// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Words of shell files and of Python's printed values, read without running anything.
#include <cctype>

#include "interop/flag_table.hpp"

namespace pleat::interop {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// One word from text[at]; quotes are undone.
std::string take_word(const std::string& text, std::size_t& at) {
  std::string word;
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == '\0' && (is_blank(c) || c == ';')) break;
    if (c == '\\' && quote != '\'') {
      if (++at == text.size()) break;
      if (text[at] != '\n') word += text[at];
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      word += c;
    }
  }
  return word;
}

}  // namespace

std::vector<std::string> shell_words(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at]) || text[at] == ';') {
      ++at;
    } else if (text[at] == '#') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '\n') {
      at += 2;
    } else if (text[at] == ')') {  // of an array; inside a word it is quoted
      words.emplace_back(")");
      ++at;
    } else {
      words.push_back(take_word(text, at));
    }
  }
  return words;
}

std::vector<std::string> python_values(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {text};
  std::vector<std::string> values;
  std::string value;
  int depth = 0;
  const auto take = [&] {
    std::size_t begin = 0, end = value.size();
    const auto trims = [](char c) { return c == ' ' || c == '\'' || c == '"'; };
    while (begin < end && trims(value[begin])) ++begin;
    while (end > begin && trims(value[end - 1])) --end;
    std::string word = value.substr(begin, end - begin);
    // "<CudaGraphModule.attn: 2>": an enum's printed form.
    if (const std::size_t dot = word.find('.'); word.starts_with('<') && dot != std::string::npos)
      word = word.substr(dot + 1, word.find(':') - dot - 1);
    if (!word.empty()) values.push_back(word);
    value.clear();
  };
  for (const char c : text.substr(1, text.size() - 2)) {
    depth += (c == '(' || c == '[' || c == '<') - (c == ')' || c == ']' || c == '>');
    if (c == ',' && depth == 0)
      take();
    else
      value += c;
  }
  take();
  return values;
}

}  // namespace pleat::interop
