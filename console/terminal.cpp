// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>

#include "core/environment.hpp"

namespace pleat {
namespace {

constexpr std::size_t kFewest = 40, kMost = 160;

// 0 where COLUMNS says nothing.
std::size_t told_columns() {
  const std::string text = environment_variable("COLUMNS").value_or("");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return error == std::errc() && end == text.data() + text.size() ? columns : 0;
}

std::size_t window_columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

// The first variable that is set decides, as for the C library.
bool locale_has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = environment_variable(name).value_or("");
    if (value.empty()) continue;
    std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
    return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

Terminal terminal() {
  Terminal t;
  std::size_t columns = told_columns();
  if (columns == 0) columns = window_columns();
  t.told = columns > 0;
  if (t.told) t.columns = std::clamp(columns, kFewest, kMost);
  t.utf8 = locale_has_utf8();
  return t;
}

}  // namespace pleat
