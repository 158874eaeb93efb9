// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A job of Megatron-LM as its files describe it: scripts, YAML files with arguments.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/megatron_command.hpp"
#include "interop/megatron_import.hpp"

namespace pleat {

struct JobFiles {
  std::vector<std::string> files;
  std::vector<std::string> set;  // "NAME=VALUE", variables that a script is given
  std::string model;             // in place of the arguments'
  std::int64_t vocab = 0;
  int gpus = 0;
  int command = 0;  // of several; 0: the last
};

struct MegatronJob {
  interop::ImportedRun run;
  interop::TrainingCommand command;
  std::vector<std::string> unpriced;  // "--deterministic-mode: why"
};

// Throws ConfigError: bad_file for what is missing, wrong or cannot be predicted, bad_request for
// options.
[[nodiscard]] MegatronJob read_megatron_job(const JobFiles&);
// The same with the texts of the files given; their names are the files'.
[[nodiscard]] MegatronJob read_megatron_job(const JobFiles&,
                                            const std::vector<interop::NamedText>&);

}  // namespace pleat
