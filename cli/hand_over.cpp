// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/backend_commands.hpp"
#include "cli/command_line.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

[[noreturn]] void hand_over(char** argv) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string whole = (here.parent_path() / "pleat").string();
  execv(whole.c_str(), argv);
  throw_config_error(ExitCode::bad_request, "", argv[1],
                     "needs the training backend. The program that has it, " + whole +
                         ", cannot be run: " + std::strerror(errno),
                     std::string("./pleat.sh ") + argv[1] + " builds it");
}

}  // namespace

int run_planner_command_line(int argc, char** argv) {
  const auto whole = [argv](const auto&...) { hand_over(argv); };
  return run_command_line(argc, argv,
                          {.train = whole,
                           .verify_checkpoints = whole,
                           .repair_checkpoints = whole,
                           .sample_text = whole,
                           .make_data = whole,
                           .inspect_data = whole,
                           .tokenize_text = whole,
                           .calibrate_machine = whole,
                           .tune = whole,
                           .export_weights = whole});
}

}  // namespace pleat::cli
