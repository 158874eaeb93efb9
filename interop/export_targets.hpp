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

inline constexpr const char* kDeepSpeedVersion = "0.19.8";

[[nodiscard]] const std::vector<FieldRule>& deepspeed_fields();
[[nodiscard]] const std::vector<Refusal>& deepspeed_refusals();

// torchtitan takes the name of a configuration, which is Python, and changes of it as arguments.

inline constexpr const char* kTitanVersion = "0.3.0";

// A configuration that it ships, and the sizes by which a model is known to be its own.
struct TitanModel {
  const char* model_type;
  std::int64_t layers, hidden, vocab;
  const char* module;  // --module
  const char* config;  // --config
};
// Null if it ships no configuration of the model that trains in bf16.
[[nodiscard]] const TitanModel* titan_model(const ModelSpec&);

// torchtitan's name of the plan's pipeline order, "ZBVZeroBubble"; null if it has no such order.
[[nodiscard]] const char* titan_schedule(const Plan&);
// Whether its split of the layers makes as many chunks as the plan has.
[[nodiscard]] bool titan_splits(const ExportContext&);
[[nodiscard]] const std::vector<FieldRule>& titan_fields();
[[nodiscard]] const std::vector<Refusal>& titan_refusals();

}  // namespace pleat::interop
