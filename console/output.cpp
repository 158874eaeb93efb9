// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/output.hpp"

#include <unistd.h>

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

void progress(const std::string& text) {
  if (!shows_progress()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace pleat
