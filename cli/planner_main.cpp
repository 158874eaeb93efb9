// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The program without the training backend.
#include "cli/command_line.hpp"

int main(int argc, char** argv) { return pleat::cli::run_planner_command_line(argc, argv); }
