// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Files of published runs: one JSON object a line (configs/validation/README.md has the fields).
#pragma once

#include <string>
#include <vector>

#include "validation/measured_run.hpp"

namespace pleat {

// ConfigError (bad_file) with every problem of the file. Fields it does not know are left alone:
// sources say more than what a prediction needs.
[[nodiscard]] std::vector<MeasuredRun> read_runs(const std::string& text,
                                                 const std::string& file_name);

// The files of configs/validation, in order of their names.
[[nodiscard]] std::vector<std::string> shipped_run_files();

}  // namespace pleat
