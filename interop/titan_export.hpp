// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// torchtitan v0.2.2: the job's TOML file; later versions are configured in Python.
#pragma once

#include "interop/exported.hpp"

namespace pleat::interop {

inline constexpr const char* kTitanVersion = "v0.2.2 (2026-02-20)";

// "ZBVZeroBubble"; null for orders that torchtitan has not.
[[nodiscard]] const char* titan_schedule(const Plan&);
[[nodiscard]] const std::vector<FieldRule>& titan_fields();
[[nodiscard]] const std::vector<Refusal>& titan_refusals();

}  // namespace pleat::interop
