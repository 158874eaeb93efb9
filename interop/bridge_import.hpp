// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The configuration of a run of Megatron-Bridge, run_config.yaml beside its checkpoints and what
// logger.save_config_filepath names, in the words of Megatron-LM.
#pragma once

#include <string>

#include "core/json/json_value.hpp"
#include "interop/flag_table.hpp"

namespace pleat::interop {

// `yaml` as read_yaml gives it. Fields that no plan has a word for are left out. ConfigError
// (bad_file, at `where`) for what is no such configuration.
[[nodiscard]] Arguments read_bridge_config(const JsonValue& yaml, const std::string& where);

}  // namespace pleat::interop
