// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "console/style.hpp"

namespace pleat {
namespace {

bool& quiet() {
  static bool is = false;
  return is;
}

// Of the terminal: what has left it at the top cannot be replaced.
long screen_rows() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  return known ? size.ws_row : 24;
}

std::string first_lines(const std::string& text, long most) {
  std::size_t end = 0;
  for (long line = 0; line < std::max(most, 1L); ++line) {
    const std::size_t next = text.find('\n', end);
    if (next == std::string::npos) return text;
    end = next + 1;
  }
  return text.substr(0, end);
}

}  // namespace

OutputError::OutputError(int error_number)
    : std::runtime_error(std::string("cannot write to stdout: ") + std::strerror(error_number)),
      error_number_(error_number) {}

void print(const std::string& text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw OutputError(errno);
  flush_output();
}

void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0) throw OutputError(errno);
}

void print_report(const std::string& text) {
  print(stdout_has_colours() ? colour_report(text) : text);
}

void be_quiet() { quiet() = true; }

void note(const std::string& text) {
  if (quiet() && !text.starts_with("warning")) return;
  progress("");
  std::fprintf(stderr, "%s\n",
               (stderr_has_colours() ? colour_messages(text) : text).c_str());
}

bool shows_progress() {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  return terminal && !quiet();
}

void progress_table(const std::string& lines) {
  static long shown = 0;
  if (!shows_progress()) return;
  std::string text = "\r\033[K";
  if (shown > 0) text += fmt::format("\033[{}A\033[J", shown);
  const std::string seen = first_lines(lines, screen_rows() - 2);
  std::fprintf(stderr, "%s%s", text.c_str(), seen.c_str());
  std::fflush(stderr);
  shown = std::ranges::count(seen, '\n');
}

void progress(const std::string& text) {
  if (!shows_progress()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace pleat
