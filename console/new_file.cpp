// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "console/new_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat {

void check_output(const OutputOptions& o, const std::string& file) {
  std::error_code ignored;
  if (!o.force && std::filesystem::is_regular_file(file, ignored)) {
    throw_config_error(ExitCode::refused, file, "", "is there already", "--force replaces it");
  }
  require_writable(file);
}

void check_output(const OutputOptions& o) {
  if (!o.file.empty()) check_output(o, o.file);
}

void check_outputs(const std::vector<std::string>& files, bool force) {
  for (const std::string& file : files) {
    if (!file.empty()) check_output({.file = file, .force = force}, file);
  }
}

void write_output(const OutputOptions& o, const std::string& file, const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  if (o.dry_run) {
    note(fmt::format("would write {} ({} lines)", file, lines));
    return;
  }
  write_file(file, text);
  note(fmt::format("wrote {} ({} lines)", file, lines));
}

}  // namespace pleat
