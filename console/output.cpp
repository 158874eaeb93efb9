// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pleat {

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

void note(const std::string& text) {
  progress("");
  std::fprintf(stderr, "%s\n", text.c_str());
}

bool shows_progress() {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  return terminal;
}

void progress(const std::string& text) {
  if (!shows_progress()) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace pleat
