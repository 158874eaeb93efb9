// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config_text.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::string unquoted(std::string text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                      text.front() == text.back();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool is_header(const std::string& line) {
  return line.size() > 2 && line.front() == '[' && line.back() == ']';
}

std::string without_comment(const std::string& text) {
  return trimmed(text.substr(0, text.find('#')));
}

// Where a key stands: its lines, and the end of its section for one that is not there.
struct LinesOfKey {
  std::size_t begin = 0, end = 0;  // the key's lines; empty: it is not there
  std::size_t section_end = 0;     // behind the last line of its section that says something
  bool section = false;            // it has been there
};

LinesOfKey place_of(const std::vector<std::string>& lines, const std::string& key) {
  const std::size_t dot = key.rfind('.');
  const std::string wanted = dot == std::string::npos ? "" : key.substr(0, dot);
  LinesOfKey place;
  place.section = wanted.empty();
  std::string section;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = trimmed(lines[i]);
    if (is_header(line)) {
      section = line.substr(1, line.size() - 2);
      if (section == wanted) place.section = true;
    }
    if (section == wanted && !line.empty()) place.section_end = i + 1;
    const std::size_t equal = line.find('=');
    if (line.empty() || line.front() == '#' || is_header(line) || equal == std::string::npos)
      continue;
    std::size_t last = i;
    std::string value = without_comment(line.substr(equal + 1));
    if (value.starts_with('[')) {
      while (!value.ends_with(']') && last + 1 < lines.size())
        value = without_comment(lines[++last]);
    }
    const std::string name = unquoted(trimmed(line.substr(0, equal)));
    if ((section.empty() ? name : section + "." + name) == key) {
      place.begin = i;
      place.end = last + 1;
      return place;
    }
    i = last;
    if (section == wanted) place.section_end = i + 1;
  }
  return place;
}

}  // namespace

int line_of(const std::string& text, const std::string& key) {
  const LinesOfKey place = place_of(lines_of(text), key);
  return place.end > place.begin ? static_cast<int>(place.begin) + 1 : 0;
}

std::string with_value(const std::string& text, const std::string& key, const std::string& value) {
  std::vector<std::string> lines = lines_of(text);
  const LinesOfKey place = place_of(lines, key);
  const auto at = [&](std::size_t i) { return lines.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t dot = key.rfind('.');
  const std::string line =
      (dot == std::string::npos ? key : key.substr(dot + 1)) + " = " + toml_value(value);
  if (place.end > place.begin) {
    const std::size_t comment = lines[place.begin].find('#');
    const std::string rest =
        comment == std::string::npos ? "" : "  " + lines[place.begin].substr(comment);
    // A dotted name of another section stays as it was written.
    const std::string name = trimmed(lines[place.begin].substr(0, lines[place.begin].find('=')));
    lines[place.begin] = name + " = " + toml_value(value) + rest;
    lines.erase(at(place.begin + 1), at(place.end));
  } else if (place.section) {
    lines.insert(at(place.section_end), line);
  } else {
    if (!lines.empty() && !trimmed(lines.back()).empty()) lines.emplace_back();
    lines.push_back("[" + key.substr(0, dot) + "]");
    lines.push_back(line);
  }
  return joined_lines(lines);
}

std::string without_key(const std::string& text, const std::string& key) {
  std::vector<std::string> lines = lines_of(text);
  const LinesOfKey place = place_of(lines, key);
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(place.begin),
              lines.begin() + static_cast<std::ptrdiff_t>(place.end));
  return joined_lines(lines);
}

std::string toml_value(const std::string& value) {
  if (value.find_first_of("#\"\\\n\r") != std::string::npos) {
    throw_config_error(ExitCode::bad_request, "", "",
                       "a value of the file has no #, quote, backslash or new line",
                       "give the option with the command instead");
  }
  char* end = nullptr;
  std::strtod(value.c_str(), &end);
  const bool number =
      !value.empty() && *end == '\0' && value.find_first_of("xXnN") == std::string::npos;
  return number || value == "true" || value == "false" ? value : "\"" + value + "\"";
}

}  // namespace pleat::cli
