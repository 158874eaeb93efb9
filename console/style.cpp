// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/style.hpp"

#include <unistd.h>

#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "core/environment.hpp"

namespace pleat {
namespace {

constexpr std::string_view kBold = "\033[1m", kRed = "\033[1;31m", kYellow = "\033[1;33m",
                           kCyan = "\033[36m", kPlain = "\033[0m";

bool has_colours(int file) {
  if (isatty(file) != 1) return false;
  if (!environment_variable("NO_COLOR").value_or("").empty()) return false;
  return environment_variable("TERM").value_or("dumb") != "dumb";
}

std::string in(std::string_view colour, std::string_view text) {
  return std::string(colour) + std::string(text) + std::string(kPlain);
}

// Calls edit(line, the line before) for each line; the newlines stay.
template <class Edit>
std::string each_line(const std::string& text, const Edit& edit) {
  std::string out, before;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    out += edit(line, before, begin == 0);
    if (end < text.size()) out += '\n';
    before = line;
    begin = end + 1;
  }
  return out;
}

bool is_head(const std::string& line) {
  return !line.empty() && std::islower(static_cast<unsigned char>(line[0])) != 0 &&
         line.find("  ") == std::string::npos;
}

}  // namespace

bool stdout_has_colours() {
  static const bool has = has_colours(STDOUT_FILENO);
  return has;
}

bool stderr_has_colours() {
  static const bool has = has_colours(STDERR_FILENO);
  return has;
}

std::string colour_messages(const std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kWords{
      {{"error:", kRed}, {"warning:", kYellow}, {"  hint:", kCyan}, {"  note:", kCyan}}};
  return each_line(text, [](const std::string& line, const std::string&, bool) {
    for (const auto& [word, colour] : kWords) {
      if (line.starts_with(word)) return in(colour, word) + line.substr(word.size());
    }
    return line;
  });
}

std::string colour_report(const std::string& text) {
  return each_line(text, [](const std::string& line, const std::string& before, bool first) {
    if (line.empty()) return line;
    if (first) return in(kBold, line);
    if (!before.empty() || !is_head(line)) return line;
    const std::size_t colon = std::min(line.find(": "), line.size());
    return in(kBold, line.substr(0, colon)) + line.substr(colon);
  });
}

std::string colour_help(const std::string& text) {
  return each_line(text, [](const std::string& line, const std::string&, bool) {
    if (line.empty()) return line;
    if (line[0] != ' ') return line.ends_with(':') ? in(kBold, line) : line;
    // "  -m,--model TEXT   what it is": two blanks, and nothing but an option.
    if (!line.starts_with("  -")) return line;
    const std::size_t end = std::min(line.find(' ', 2), line.size());
    return "  " + in(kCyan, line.substr(2, end - 2)) + line.substr(end);
  });
}

}  // namespace pleat
