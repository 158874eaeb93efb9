// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parses the command line, runs one subcommand and turns every failure into a message on stderr and
// an exit code of docs/ARCHITECTURE.md's table.
#pragma once

namespace pleat::cli {

struct BackendCommands;

[[nodiscard]] int run_command_line(int argc, char** argv, const BackendCommands&);

// Of `pleat-planner`: a command that needs the backend replaces this process by `pleat` beside it.
// Where there is none, the message (bad_request) says how it is built.
[[nodiscard]] int run_planner_command_line(int argc, char** argv);

}  // namespace pleat::cli
