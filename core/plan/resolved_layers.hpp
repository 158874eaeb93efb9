// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The layers of a ModelSpec that differ, and the recurrence some of them have, inside a plan file:
// one entry of `layer_kinds` for all layers alike. A model whose layers are all the default has
// none.
#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/model.hpp"

namespace pleat {

void write_layer_kinds(JsonValue& out, const ModelSpec&);

// Reads `layer_kinds`, `mtp_kind` and `recurrence` of a model whose number of layers is known.
void read_layer_kinds(ObjectReader&, ModelSpec&);

}  // namespace pleat
