// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The fields of a document as flat paths, so that a table over them can be checked for gaps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json/json_value.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat::interop {

// "plan.attention.tp" and its value: members of objects, however deep; arrays are values.
using FlatFields = std::vector<std::pair<std::string, JsonValue>>;
[[nodiscard]] FlatFields flat_fields(const JsonValue& object, const std::string& prefix);

// What an export has to say something about: every leaf of `plan`, `workload` and `cluster`. The
// model is checked by its round trip.
[[nodiscard]] FlatFields exported_fields(const PlanDocument&);

}  // namespace pleat::interop
