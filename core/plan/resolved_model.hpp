// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A ModelSpec inside a plan file, field by field, so that the plan needs no other file. Layers are
// MoE unless `dense_layers` lists them.
#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/model.hpp"
#include "core/spec/rope.hpp"

namespace pleat {

[[nodiscard]] JsonValue write_model(const ModelSpec&);

// Problems go to the reader's diagnostics; the result counts only when there are none.
[[nodiscard]] ModelSpec read_model(ObjectReader);

// --- its parts
// Layers that differ, and the recurrence some of them have: one entry of `layer_kinds` for all
// layers alike. A model whose layers are all the default has none.
void write_layer_kinds(JsonValue& out, const ModelSpec&);
// Reads `layer_kinds`, `mtp_kind` and `recurrence` of a model whose number of layers is known.
void read_layer_kinds(ObjectReader&, ModelSpec&);

// Scaled rotary positions.
[[nodiscard]] JsonValue write_rope_scaling(const RopeScaling&);
[[nodiscard]] RopeScaling read_rope_scaling(ObjectReader);

}  // namespace pleat
