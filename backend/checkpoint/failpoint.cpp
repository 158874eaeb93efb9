// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/failpoint.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

struct Armed {
  std::string name;
  int rank = -1, step = -1;
  bool error = false;
};

Armed read_environment() {
  Armed armed;
  std::string rest = armed_failpoint();
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string word = rest.substr(0, end);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
    if (word.starts_with("rank=")) {
      armed.rank = std::atoi(word.c_str() + 5);
    } else if (word.starts_with("step=")) {
      armed.step = std::atoi(word.c_str() + 5);
    } else if (word == "error") {
      armed.error = true;
    } else {
      armed.name = word;
    }
  }
  return armed;
}

const Armed& armed() {
  static const Armed value = read_environment();
  return value;
}

}  // namespace

void failpoint(std::string_view name, int rank, int step) {
  const Armed& a = armed();
  if (a.name.empty() || a.name != name) return;
  if ((a.rank >= 0 && a.rank != rank) || (a.step >= 0 && a.step != step)) return;
  if (a.error) {
    throw_config_error(ExitCode::device_or_io, "", "",
                       fmt::format("failpoint {} of rank {}, step {}", name, rank, step));
  }
  std::raise(SIGKILL);
}

bool failpoint_armed(std::string_view prefix) {
  return !armed().name.empty() && std::string_view(armed().name).starts_with(prefix);
}

}  // namespace pleat
