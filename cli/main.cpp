// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The whole program.
#include "cli/backend_commands.hpp"
#include "cli/command_line.hpp"

int main(int argc, char** argv) {
  return pleat::cli::run_command_line(argc, argv, pleat::cli::backend_commands());
}
