// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/quoting.hpp"

#include <algorithm>
#include <cctype>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "interop/flag_table.hpp"

namespace pleat::interop {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_plain_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view("._-+,/:@%=").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string shell_word(const std::string& text, const std::string& path) {
  if (std::any_of(text.begin(), text.end(), is_control)) {
    throw_config_error(ExitCode::bad_request, "", path,
                       "has a line break or another control character", "one line of plain text");
  }
  if (is_plain_word(text)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string json_string(const std::string& text) { return JsonValue(text).dump(0); }

std::string one_line(const std::string& text) {
  std::string line = text;
  std::replace_if(line.begin(), line.end(), is_control, '?');
  return line;
}

bool is_plain_name(const std::string& text) {
  return !text.empty() && text.size() <= 128 && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_dns_name(const std::string& text, bool dots) {
  constexpr std::size_t kMostLabel = 63, kMostName = 253;
  if (text.size() > (dots ? kMostName : kMostLabel)) return false;
  const auto ends_label = [&](std::size_t i) {
    return i == 0 || i + 1 == text.size() || text[i - 1] == '.' || text[i + 1] == '.';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool inside = c == '-' || (c == '.' && dots);
    if (!plain && (!inside || ends_label(i))) return false;
  }
  return !text.empty();
}

std::string dns_label(const std::string& text) {
  std::string label;
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool kept = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    if (kept)
      label += lower;
    else if (!label.empty() && label.back() != '-')
      label += '-';
    if (label.size() == 50) break;
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "pleat" : label;
}

// Words of shell files and of Python's printed values, read without running anything.

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

namespace {

bool is_plain_key(const std::string& key) {
  return is_plain_name(key) && key != "null" && key != "true" && key != "false" && key != "yes" &&
         key != "no" && key != "on" && key != "off" && key != "y" && key != "n" &&
         !(key.front() >= '0' && key.front() <= '9');
}

bool is_empty(const JsonValue& v) {
  return (v.is_object() || v.is_array()) && v.members().empty() && v.items().empty();
}

void write(const JsonValue& value, std::size_t depth, std::string& out);

// After "key:" or "-": a scalar on the same line, anything else below.
void write_after(const JsonValue& value, std::size_t depth, bool in_list, std::string& out) {
  const bool nested = value.is_object() || value.is_array();
  if (!nested || is_empty(value)) {
    out += " " + value.dump(0) + "\n";
  } else if (in_list && value.is_object()) {
    std::string inner;
    write(value, depth + 1, inner);
    out += " " + inner.substr(2 * (depth + 1));  // the first member on the line of the dash
  } else {
    out += "\n";
    write(value, depth + 1, out);
  }
}

void write(const JsonValue& value, std::size_t depth, std::string& out) {
  const std::string indent(2 * depth, ' ');
  for (const JsonMember& m : value.members()) {
    out += indent + (is_plain_key(m.key) ? m.key : json_string(m.key)) + ":";
    write_after(m.value, depth, false, out);
  }
  for (const JsonValue& item : value.items()) {
    out += indent + "-";
    write_after(item, depth, true, out);
  }
}

}  // namespace

std::string to_yaml(const JsonValue& value) {
  PLEAT_ASSERT(value.is_object());
  std::string out;
  write(value, 0, out);
  return out;
}

}  // namespace pleat::interop
