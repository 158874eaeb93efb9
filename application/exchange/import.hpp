// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What other programs wrote, read into files of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "application/exchange/bridge_recipe.hpp"
#include "console/write_file.hpp"

namespace pleat {

struct ImportOptions {
  std::string kind;  // one of cli::import_kinds(), "megatron-log"
  std::vector<std::string> files;
  std::string model, cluster, profile, name, collective;
  int gpus = 0, ranks = 0;
  std::vector<std::string> set;  // of megatron-args, "NAME=VALUE"
  std::int64_t vocab = 0;
  std::optional<std::int64_t> seq_len;  // of deepspeed, whose file does not say it
  int command = 0;
  RecipeOptions recipe;  // of megatron-bridge in Python
  int warmup = -1;  // -1: three lines, fewer when there are few
  OutputOptions output;
  bool json = false;
};

// ConfigError (bad_request) unless one file is given.
[[nodiscard]] const std::string& only_file(const ImportOptions&);

// One kind each. ConfigError for what cannot be read or said.
void import_megatron_log(const ImportOptions&);
void import_megatron_arguments(const ImportOptions&);
void import_bridge_config(const ImportOptions&);
void import_keyed_config(const ImportOptions&);  // torchtitan, deepspeed, nemo
void import_nccl_tests(const ImportOptions&);

}  // namespace pleat
