// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/improve/key_patch.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"

namespace pleat {
namespace {

std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// Words that are no number and no truth value need quotes in TOML and JSON.
std::string quoted_value(const std::string& value) {
  const bool plain =
      value == "true" || value == "false" || value == "null" || value.starts_with('"') ||
      value.starts_with('[') ||
      (!value.empty() && value.find_first_not_of("0123456789.+-eE") == std::string::npos);
  return plain ? value : "\"" + value + "\"";
}

// The key of a line "  key = value" or "  key: value", and where its value begins and ends.
struct KeyLine {
  std::string key;
  std::size_t indent = 0, begin = 0, end = 0;
};

KeyLine key_line(const std::string& line, char separator) {
  KeyLine out;
  out.indent = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t at = line.find(separator, out.indent);
  if (at == std::string::npos || line.compare(out.indent, 1, "#") == 0) return out;
  std::string key = line.substr(out.indent, at - out.indent);
  key.erase(key.find_last_not_of(" \t\"'") + 1);
  if (!key.empty() && (key.front() == '"' || key.front() == '\'')) key.erase(0, 1);
  out.begin = std::min(line.find_first_not_of(" \t", at + 1), line.size());
  char quote = '\0';
  for (out.end = out.begin; out.end < line.size(); ++out.end) {
    const char c = line[out.end];
    if (quote == '\0' && c == '#' && (out.end == 0 || line[out.end - 1] == ' ')) break;
    if (quote == '\0' && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = '\0';
  }
  while (out.end > out.begin && (line[out.end - 1] == ' ' || line[out.end - 1] == '\t')) --out.end;
  out.key = std::move(key);
  return out;
}

using LineIndex = std::ptrdiff_t;

void change_toml(std::vector<std::string>& lines, const KeyChange& c) {
  const std::size_t dot = c.path.rfind('.');
  const std::string section = dot == std::string::npos ? "" : c.path.substr(0, dot);
  const std::string key = c.path.substr(dot == std::string::npos ? 0 : dot + 1);
  std::string now;
  std::optional<std::size_t> header;  // where new keys of the section go
  if (section.empty()) header = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t begin = lines[i].find_first_not_of(" \t");
    if (begin != std::string::npos && lines[i][begin] == '[') {
      now = lines[i].substr(begin + 1, lines[i].find(']', begin) - begin - 1);
      if (now == section) header = i + 1;
      continue;
    }
    if (now != section) continue;
    const KeyLine k = key_line(lines[i], '=');
    if (k.key != key) continue;
    if (c.value)
      lines[i].replace(k.begin, k.end - k.begin, quoted_value(*c.value));
    else
      lines.erase(lines.begin() + static_cast<LineIndex>(i));
    return;
  }
  if (!c.value) return;
  const std::string line = key + " = " + quoted_value(*c.value);
  if (header) {
    lines.insert(lines.begin() + static_cast<LineIndex>(*header), line);
    return;
  }
  lines.insert(lines.end(), {"", "[" + section + "]", line});
}

// Block style; a mapping that is written in braces is left as it is.
void change_yaml(std::vector<std::string>& lines, const KeyChange& c) {
  struct Open {
    std::string path;
    std::size_t indent;
  };
  std::vector<Open> open;
  std::optional<std::size_t> after;  // the first line behind the parent's
  const std::size_t dot = c.path.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : c.path.substr(0, dot);
  std::size_t parent_indent = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const KeyLine k = key_line(lines[i], ':');
    if (k.key.empty() || k.key.find_first_of(" -{[") != std::string::npos) continue;
    while (!open.empty() && open.back().indent >= k.indent) open.pop_back();
    const std::string path = open.empty() ? k.key : open.back().path + "." + k.key;
    if (path == c.path) {
      const std::string value = c.value.value_or("null");
      if (k.begin < k.end && lines[i].compare(k.begin, 1, "{") == 0) return;
      lines[i].replace(k.begin, k.end - k.begin, k.begin == k.end ? " " + value : value);
      return;
    }
    if (path == parent && k.begin == k.end) {
      after = i + 1;
      parent_indent = k.indent;
    }
    open.push_back({path, k.indent});
  }
  if (!c.value || !after) return;
  std::size_t indent = parent_indent + 2;
  if (*after < lines.size())
    indent = std::max(indent, std::min(lines[*after].find_first_not_of(' '), indent + 4));
  lines.insert(lines.begin() + static_cast<LineIndex>(*after),
               std::string(indent, ' ') + c.path.substr(dot + 1) + ": " + *c.value);
}

// Where a position of the parser is in the text; columns count characters.
std::size_t offset_of(const std::string& text, Position p) {
  std::size_t at = 0;
  for (int line = 1; line < p.line && at < text.size(); ++line)
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  for (int column = 1; column < p.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  }
  return at;
}

std::size_t end_of_scalar(const std::string& text, std::size_t at) {
  if (at < text.size() && text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"'; ++at)
      if (text[at] == '\\') ++at;
    return std::min(at + 1, text.size());
  }
  return std::min(text.find_first_of(",}] \t\r\n", at), text.size());
}

// As the object's first member, in the style of the one that is first now.
void insert_member(std::string& text, const JsonValue& object, const std::string& key,
                   const std::string& value) {
  const std::size_t brace = offset_of(text, object.position());
  const std::size_t next = text.find_first_not_of(" \t\r\n", brace + 1);
  if (next == std::string::npos) return;
  const std::string blank = text.substr(brace + 1, next - brace - 1);
  const bool empty = text[next] == '}';
  text.insert(brace + 1, (empty ? std::string() : blank) + "\"" + key + "\": " + value +
                             (empty           ? ""
                              : blank.empty() ? ", "
                                              : ","));
}

void change_json(std::string& text, const KeyChange& c) {
  const JsonValue root = parse_json(text, "file");
  const JsonValue* at = &root;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = std::min(c.path.find('.', begin), c.path.size());
    const std::string key = c.path.substr(begin, dot - begin);
    const JsonValue* const inner = at->find(key);
    const bool last = dot == c.path.size();
    if (inner == nullptr) {
      if (!c.value) return;
      std::string value = quoted_value(*c.value);
      std::string rest = last ? "" : c.path.substr(dot + 1);
      while (!rest.empty()) {
        const std::size_t behind = rest.rfind('.');
        const std::string name = behind == std::string::npos ? rest : rest.substr(behind + 1);
        value = "{\"" + name + "\": " + value + "}";
        rest = behind == std::string::npos ? "" : rest.substr(0, behind);
      }
      insert_member(text, *at, key, value);
      return;
    }
    if (last) {
      if (inner->is_object() || inner->is_array()) return;
      const std::size_t value = offset_of(text, inner->position());
      std::size_t end = end_of_scalar(text, value);
      if (c.value) {
        text.replace(value, end - value, quoted_value(*c.value));
        return;
      }
      std::size_t from = text.rfind('"' + key + '"', value);
      const std::size_t next = text.find_first_not_of(" \t\r\n", end);
      if (next != std::string::npos && text[next] == ',') {
        end = std::min(text.find_first_not_of(" \t\r\n", next + 1), text.size());
      } else {
        const std::size_t comma = text.find_last_not_of(" \t\r\n", from - 1);
        if (comma != std::string::npos && text[comma] == ',') from = comma;
      }
      text.erase(from, end - from);
      return;
    }
    at = inner;
    begin = dot + 1;
  }
}

}  // namespace

std::string change_keys(const std::string& text, KeySyntax syntax,
                        const std::vector<KeyChange>& changes) {
  if (syntax == KeySyntax::json) {
    std::string out = text;
    for (const KeyChange& c : changes) change_json(out, c);
    return out;
  }
  std::vector<std::string> lines = text_lines(text);
  for (const KeyChange& c : changes) {
    if (syntax == KeySyntax::toml)
      change_toml(lines, c);
    else
      change_yaml(lines, c);
  }
  return joined_lines(lines);
}

}  // namespace pleat
