// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Output files: they appear whole or not at all, and an existing one stays unless --force is given.
#pragma once

#include <string>
#include <vector>

namespace pleat {

// Output files appear whole or not at all: a temporary file beside the target, then a rename.

// Throws ConfigError (device_or_io) with the reason; then the target is as it was before.
void write_file(const std::string& path, const std::string& text);
// The same, and says on stderr that it did: of files that a flag asked for.
void write_and_say(const std::string& path, const std::string& text);

// From now on write_file only says on stderr what it would write.
void only_say_writes();
[[nodiscard]] bool writes_are_only_said();
// Of what is not one file with write_file: says it and returns true if writes are only said.
[[nodiscard]] bool only_said(const std::string& what);

// Fails now rather than after minutes of work when `path` could not be written later.
void require_writable(const std::string& path);

// Makes the folder and its parents; ConfigError (device_or_io) if that fails. Where writes are only
// said it makes none, and files may be said to lie in it.
void make_folder(const std::string& path);

// Where a command's text goes: stdout, or a new file with -o. An existing file stays unless --force
// is given, and --dry-run says what would be written.

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
