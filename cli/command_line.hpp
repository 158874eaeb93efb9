// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parses the command line, runs one subcommand and turns every failure into a message on stderr and
// an exit code of docs/ARCHITECTURE.md's table.
#pragma once

namespace pleat::cli {

struct BackendCommands;

[[nodiscard]] int run_command_line(int argc, char** argv, const BackendCommands&);

}  // namespace pleat::cli
