// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Scaled rotary positions in a plan document.
#pragma once

#include "core/json/object_reader.hpp"
#include "core/spec/rope.hpp"

namespace pleat {

[[nodiscard]] JsonValue write_rope_scaling(const RopeScaling&);
[[nodiscard]] RopeScaling read_rope_scaling(ObjectReader);

}  // namespace pleat
