// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words that a user's files give to Megatron-LM: scripts as they are found, with what they read
// from each other, and YAML files with MODEL_ARGS or ARGS. Nothing is run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/flag_table.hpp"

namespace pleat::interop {

struct NamedText {
  std::string name;  // of the file, as it was given
  std::string text;
};

struct TrainingCommand {
  std::vector<std::string> words;                // the launcher's left out
  int gpus = 0;                                  // as its launcher or its job says; 0: neither does
  int commands = 1;                              // how many commands of training there are
  std::map<std::string, std::string> variables;  // at the script's end
};

// The first script is followed; the others, and YAML files, are what it may read. A YAML file that
// it does not read stands before the command's own words. `which` counts from 1, 0 is the last
// command. Throws ConfigError (bad_file) for YAML that is none and scripts without end.
[[nodiscard]] TrainingCommand find_command(const std::vector<NamedText>& files,
                                           const std::map<std::string, std::string>& variables,
                                           int which, const FlagTable&);

}  // namespace pleat::interop
