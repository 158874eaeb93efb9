// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

constexpr int kMostYamlDepth = 60;

struct YamlLine {
  int number = 0;
  std::size_t indent = 0;
  std::string_view text;  // without indentation, comment and blanks at its end
};

bool is_yaml_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed_yaml(std::string_view text) {
  while (!text.empty() && is_yaml_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_yaml_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Behind the quote that begins at text[at].
std::size_t after_quote(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote != '\'' || at + 1 >= text.size() || text[at + 1] != '\'') return at + 1;
      ++at;
    }
  }
  return text.size();
}

// Where a comment begins, outside of quotes.
std::string_view without_comment(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const bool at_start = at == 0 || is_yaml_blank(text[at - 1]);
    if (text[at] == '#' && at_start) return trimmed_yaml(text.substr(0, at));
    const bool quotes = (text[at] == '"' || text[at] == '\'') &&
                        (at_start || text[at - 1] == '[' || text[at - 1] == ',');
    at = quotes ? after_quote(text, at) : at + 1;
  }
  return trimmed_yaml(text);
}

// Where the key of a "key: value" ends, npos if the text is none.
std::size_t key_end(std::string_view text) {
  std::size_t at = 0;
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) at = after_quote(text, 0);
  for (; at < text.size(); ++at) {
    if (text[at] == ':' && (at + 1 == text.size() || is_yaml_blank(text[at + 1]))) return at;
    if (at == 0 && (text[0] == '[' || text[0] == '{')) break;
  }
  return std::string_view::npos;
}

std::string unquoted_yaml(std::string_view text) {
  text = trimmed_yaml(text);
  if (text.size() < 2 || (text[0] != '"' && text[0] != '\'') || text.back() != text[0])
    return std::string(text);
  std::string out;
  const std::string_view inside = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (i + 1 < inside.size() && (text[0] == '"' ? inside[i] == '\\' : inside.substr(i, 2) == "''"))
      ++i;
    out += inside[i];
  }
  return out;
}

class YamlReader {
 public:
  YamlReader(const std::string& text, std::string where) : where_(std::move(where)) {
    int number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view all = std::string_view(text).substr(begin, end - begin);
      begin = end + 1;
      ++number;
      const std::size_t indent = std::min(all.find_first_not_of(' '), all.size());
      const std::string_view line = without_comment(all.substr(indent));
      if (line.empty() || line.starts_with("---") || line.starts_with("%")) continue;
      lines_.push_back({number, indent, line});
    }
  }

  JsonValue read() {
    if (lines_.empty()) return JsonValue::object();
    JsonValue value = block(lines_[0].indent, 0);
    if (at_ < lines_.size()) fail("is indented less than what it follows");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* why) const {
    const YamlLine& line = lines_[std::min(at_, lines_.size() - 1)];
    throw_config_error(ExitCode::bad_file, fmt::format("{}:{}", where_, line.number), "", why,
                       "YAML of mappings and lists");
  }

  static bool is_item(std::string_view text) { return text == "-" || text.starts_with("- "); }

  // The lines from here that are indented so far: a list, or a mapping.
  JsonValue block(std::size_t indent, int depth) {
    if (depth > kMostYamlDepth) fail("is nested too deeply");
    if (is_item(lines_[at_].text)) {
      JsonValue list = JsonValue::array();
      while (at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text)) {
        YamlLine& line = lines_[at_];
        const std::string_view rest = trimmed_yaml(line.text.substr(1));
        if (rest.empty()) {
          ++at_;
          list.push_back(below(indent, depth));
        } else if (key_end(rest) != std::string_view::npos || is_item(rest)) {
          line.indent += line.text.size() - rest.size();
          line.text = rest;
          list.push_back(block(line.indent, depth + 1));
        } else {
          ++at_;
          list.push_back(scalar(rest, indent, depth));
        }
      }
      return list;
    }
    JsonValue map = JsonValue::object();
    while (at_ < lines_.size() && lines_[at_].indent == indent && !is_item(lines_[at_].text)) {
      const std::string_view text = lines_[at_].text;
      const std::size_t end = key_end(text);
      if (end == std::string_view::npos) fail("is no \"key: value\"");
      std::string key = unquoted_yaml(text.substr(0, end));
      const std::string_view rest = trimmed_yaml(text.substr(end + 1));
      ++at_;
      map.set(std::move(key), rest.empty() ? below(indent, depth) : scalar(rest, indent, depth));
    }
    if (at_ < lines_.size() && lines_[at_].indent > indent)
      fail("is indented more than its mapping");
    return map;
  }

  // What stands below a key; lists may stand as far left as the key.
  JsonValue below(std::size_t indent, int depth) {
    const bool inside =
        at_ < lines_.size() && (lines_[at_].indent > indent ||
                                (lines_[at_].indent == indent && is_item(lines_[at_].text)));
    if (!inside) return JsonValue("null");
    const std::string_view text = lines_[at_].text;
    if (is_item(text) || key_end(text) != std::string_view::npos)
      return block(lines_[at_].indent, depth + 1);
    ++at_;
    return scalar(text, indent, depth + 1);
  }

  JsonValue scalar(std::string_view text, std::size_t indent, int depth) {
    while (text.starts_with('!') || text.starts_with('&')) {
      const std::size_t end = std::min(text.find(' '), text.size());
      text = trimmed_yaml(text.substr(end));
      if (text.empty()) return below(indent, depth);
    }
    if (text == "|" || text == ">" || text == "|-" || text == ">-") {
      std::string all;
      for (; at_ < lines_.size() && lines_[at_].indent > indent; ++at_)
        all += (all.empty() ? "" : "\n") + std::string(lines_[at_].text);
      return JsonValue(std::move(all));
    }
    std::string joined(text);
    // A plain scalar, a quote or a bracket goes on in lines that are indented more.
    while (at_ < lines_.size() && lines_[at_].indent > indent) {
      joined += " " + std::string(lines_[at_].text);
      ++at_;
    }
    std::string_view rest = joined;
    if (joined.front() == '[' || joined.front() == '{') {
      JsonValue value = flow(rest, depth + 1);
      if (trimmed_yaml(rest).empty()) return value;
      return JsonValue(joined);  // "[0]*3+[1]*58"
    }
    return JsonValue(unquoted_yaml(joined));
  }

  JsonValue flow(std::string_view& rest, int depth) {
    if (depth > kMostYamlDepth) fail("is nested too deeply");
    rest = trimmed_yaml(rest);
    if (rest.empty()) return JsonValue("");
    const char open = rest.front();
    if (open != '[' && open != '{') {
      std::size_t end = 0;
      if (open == '"' || open == '\'')
        end = after_quote(rest, 0);
      else
        while (end < rest.size() && rest[end] != ',' && rest[end] != ']' && rest[end] != '}') ++end;
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(end);
      return JsonValue(unquoted_yaml(text));
    }
    rest.remove_prefix(1);
    const char close = open == '[' ? ']' : '}';
    JsonValue list = JsonValue::array(), map = JsonValue::object();
    while (!(rest = trimmed_yaml(rest)).empty() && rest.front() != close) {
      if (rest.front() == ',') {
        rest.remove_prefix(1);
      } else if (open == '[') {
        const std::size_t before = rest.size();
        list.push_back(flow(rest, depth + 1));
        if (rest.size() == before) rest.remove_prefix(1);
      } else {
        const std::size_t end = rest.find(':');
        if (end == std::string_view::npos) fail("has a mapping in braces without a colon");
        std::string key = unquoted_yaml(rest.substr(0, end));
        rest.remove_prefix(end + 1);
        map.set(std::move(key), flow(rest, depth + 1));
      }
    }
    if (!rest.empty()) rest.remove_prefix(1);
    return open == '[' ? list : map;
  }

  std::vector<YamlLine> lines_;
  std::size_t at_ = 0;
  std::string where_;
};

}  // namespace

JsonValue read_yaml(const std::string& text, const std::string& where) {
  return YamlReader(text, where).read();
}

}  // namespace pleat::interop
