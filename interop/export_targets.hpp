// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exports to frameworks other than Megatron-LM. Each writes a plan in that framework's settings.
#pragma once

#include "interop/exported.hpp"

namespace pleat::interop {

// Megatron-Bridge takes overrides of its configuration by dotted names, "model.seq_length". They
// are made from the flags of the Megatron-LM export.

inline constexpr const char* kBridgeVersion = "067f987 (2026-08-22)";

// The sizes of the model are left out: they come from Megatron-Bridge's recipe.
[[nodiscard]] Exported to_bridge(const ExportContext&, const Exported& megatron);

// DeepSpeed takes a JSON file, ds_config.json.

inline constexpr const char* kDeepSpeedVersion = "edaa722 (2026-08-22)";

[[nodiscard]] const std::vector<FieldRule>& deepspeed_fields();
[[nodiscard]] const std::vector<Refusal>& deepspeed_refusals();

// torchtitan up to v0.2.2 takes a TOML file. Later versions are configured in Python.

inline constexpr const char* kTitanVersion = "v0.2.2 (2026-02-20)";

// torchtitan's name of the plan's pipeline order, "ZBVZeroBubble"; null if it has no such order.
[[nodiscard]] const char* titan_schedule(const Plan&);
[[nodiscard]] const std::vector<FieldRule>& titan_fields();
[[nodiscard]] const std::vector<Refusal>& titan_refusals();

}  // namespace pleat::interop
