// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a command's text goes: stdout, or a new file with -o. An existing file stays unless --force
// is given, and --dry-run says what would be written.
#pragma once

#include <string>
#include <vector>

namespace pleat {

struct OutputOptions {
  std::string file;
  bool force = false, dry_run = false;
};

// Before any work: ConfigError (refused) for a file that is there, (device_or_io) for one that
// could not be written. Nothing for stdout.
void check_output(const OutputOptions&);
void check_output(const OutputOptions&, const std::string& file);
// The same of several files, of which some may not have been asked for (empty).
void check_outputs(const std::vector<std::string>& files, bool force);

// Writes the file and says so on stderr, or only says what would be written.
void write_output(const OutputOptions&, const std::string& file, const std::string& text);

}  // namespace pleat
