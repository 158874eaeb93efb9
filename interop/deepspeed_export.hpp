// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's ds_config.json.
#pragma once

#include "interop/exported.hpp"

namespace pleat::interop {

inline constexpr const char* kDeepSpeedVersion = "edaa722 (2026-08-22)";

[[nodiscard]] const std::vector<FieldRule>& deepspeed_fields();
[[nodiscard]] const std::vector<Refusal>& deepspeed_refusals();

}  // namespace pleat::interop
