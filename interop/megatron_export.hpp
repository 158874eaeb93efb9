// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The parts of the Megatron-LM export that more than one file needs.
#pragma once

#include <string>
#include <vector>

#include "interop/exported.hpp"

namespace pleat::interop {

inline constexpr const char* kMegatronVersion = "d98e8a64dd (2026-08-22)";

// Adds a setting. Numbers are written so that reading them gives exactly the same number.
void add(Exported&, std::string name, std::vector<std::string> values = {});
void add(Exported&, std::string name, std::int64_t value);
void add(Exported&, std::string name, double value);
// Adds a remark about a field that has no counterpart.
void miss(Exported&, std::string field, std::string value, std::string text);

// Writes the flags of pretrain_gpt.py that describe the model, and a remark for what has no flag.
void write_megatron_model(const ExportContext&, Exported&);
void write_positions(const ModelSpec&, Exported&);  // its part about positions
[[nodiscard]] const std::vector<Refusal>& megatron_model_refusals();
[[nodiscard]] const std::vector<Refusal>& megatron_plan_refusals();
// Of pretrain_gpt.py alone, which builds the model in other ways than Megatron-Bridge.
[[nodiscard]] const std::vector<Refusal>& megatron_builder_refusals();
[[nodiscard]] const std::vector<FieldRule>& megatron_fields();
// Two parts of megatron_fields(): what ranks exchange, and gradients with optimizer states.
void append_exchange_fields(std::vector<FieldRule>&);
void append_state_fields(std::vector<FieldRule>&);

// A list of small integers as Megatron's frequency flags take it: "([0]*3+[1]*58)".
[[nodiscard]] std::string pattern_text(const std::vector<int>& values);

// The lengths of the documents: "[512, 4096]".
[[nodiscard]] std::string documents_text(const ExportContext&);

// Questions about a plan or model that several files ask.
[[nodiscard]] bool is_moe(const ExportContext&);
[[nodiscard]] bool uses_flex(const ExportContext&);  // deepep or hybridep, and ranks to send to
[[nodiscard]] bool is_fsdp(const ExportContext&);    // zero2 or zero3
[[nodiscard]] bool is_fp8(Precision);
[[nodiscard]] bool keeps_fp8_weights(const ExportContext&);
[[nodiscard]] bool narrow_optimizer(const ExportContext&);  // any state type but fp32
[[nodiscard]] bool precision_aware(const ExportContext&);   // states narrow or on the host
[[nodiscard]] bool has_stash(const ExportContext&);
[[nodiscard]] bool narrow_reduction(const ExportContext&);  // gradients narrower on the wire
[[nodiscard]] bool has_dense_layer(const ModelSpec&);
[[nodiscard]] bool splits_evenly(const ExportContext&);

}  // namespace pleat::interop
