// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A ModelSpec inside a plan file, field by field, so that the plan needs no other file. Layers are
// MoE unless `dense_layers` lists them.
#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/model.hpp"

namespace pleat {

[[nodiscard]] JsonValue write_model(const ModelSpec&);

// Problems go to the reader's diagnostics; the result counts only when there are none.
[[nodiscard]] ModelSpec read_model(ObjectReader);

}  // namespace pleat
