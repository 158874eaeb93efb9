// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/output_options.hpp"

#include <CLI/CLI.hpp>

namespace pleat::cli {

void add_output_options(CLI::App& command, OutputOptions& o, const std::string& what) {
  command.add_option("-o,--out", o.file, "Write " + what + " to this file (default: stdout)");
  command.add_flag("--force", o.force, "Replace a file that is there");
  command.add_flag("--dry-run", o.dry_run, "Write nothing, say what would be written");
}

}  // namespace pleat::cli
