// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The "plan" object of a plan file. Every field but the two mappings may be absent and has the
// default of its struct then; writing leaves none out.
#pragma once

#include "core/json/object_reader.hpp"
#include "core/plan/numerics_rows.hpp"
#include "core/plan/plan.hpp"

namespace pleat {

[[nodiscard]] JsonValue write_plan(const Plan&);

// Problems go to the reader's diagnostics; the result counts only when there are none.
[[nodiscard]] Plan read_plan(ObjectReader);

// An object with some of the fields that change numbers, as a plan has them: those that are there,
// in the table's order.
[[nodiscard]] std::vector<NumericsValue> read_numerics(ObjectReader);

}  // namespace pleat
