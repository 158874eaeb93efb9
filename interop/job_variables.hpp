// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What only the user of a job file knows: where the data lies, how long to train, where checkpoints
// go. Each is a variable at the file's top, which the environment may set as well. What is missing
// is said before anything starts.
#pragma once

#include <string>
#include <vector>

#include "interop/launch.hpp"

namespace pleat::interop {

struct JobVariable {
  const char* name;                  // DATA_PATH
  std::string value;                 // its default; empty: the user must say it
  const char* what;                  // "prefix of the .bin and .idx files"
  std::vector<const char*> flags;    // all of them take the value
  std::vector<const char*> instead;  // flags that make it superfluous
};

// Those of the trainer. Without a balance loss an MoE would train with loads that no plan expects.
[[nodiscard]] std::vector<JobVariable> job_variables(const Launch&);

// Their declarations, for the top of a shell script.
[[nodiscard]] std::string variables_text(const Launch&);

// Adds them to the array of arguments that the script has by then. What is missing is said, and the
// script ends with 2. A flag that was given to the script, or to `pleat launch`, is not added. With
// PLEAT_CHECK_ONLY set the script ends here.
[[nodiscard]] std::string use_variables_text(const Launch&);

}  // namespace pleat::interop
