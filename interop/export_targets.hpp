// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exports to frameworks other than Megatron-LM. Each writes a plan in that framework's settings.
#pragma once

#include "interop/exported.hpp"

namespace pleat::interop {

// Megatron-Bridge: dotted overrides of a ConfigContainer, from the flags of the Megatron-LM export.

inline constexpr const char* kBridgeVersion = "067f987 (2026-08-22)";

// The model's sizes come from the recipe and are left out.
[[nodiscard]] Exported to_bridge(const ExportContext&, const Exported& megatron);

// DeepSpeed's ds_config.json.

inline constexpr const char* kDeepSpeedVersion = "edaa722 (2026-08-22)";

[[nodiscard]] const std::vector<FieldRule>& deepspeed_fields();
[[nodiscard]] const std::vector<Refusal>& deepspeed_refusals();

// torchtitan v0.2.2: the job's TOML file; later versions are configured in Python.

inline constexpr const char* kTitanVersion = "v0.2.2 (2026-02-20)";

// "ZBVZeroBubble"; null for orders that torchtitan has not.
[[nodiscard]] const char* titan_schedule(const Plan&);
[[nodiscard]] const std::vector<FieldRule>& titan_fields();
[[nodiscard]] const std::vector<Refusal>& titan_refusals();

}  // namespace pleat::interop
