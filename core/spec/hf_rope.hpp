// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions in a config.json: rope_theta with rope_scaling, or rope_parameters.
#pragma once

#include "core/spec/hf_fields.hpp"
#include "core/spec/model.hpp"

namespace pleat {

// `kind` and the heads' sizes are known.
void read_hf_rope(HfFields&, AttentionSpec&);

}  // namespace pleat
