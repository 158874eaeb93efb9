// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured for the plans that were run.
#pragma once

#include <string>
#include <vector>

#include "cli/workflow/contest.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

[[nodiscard]] std::string contest_text(const std::vector<Contender>&);
[[nodiscard]] JsonValue contest_json(const std::vector<Contender>&);

}  // namespace pleat::cli
