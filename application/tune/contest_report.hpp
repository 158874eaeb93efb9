// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured for the plans that were run.
#pragma once

#include <string>
#include <vector>

#include "application/tune/contest.hpp"
#include "core/json/json_value.hpp"

namespace pleat {

// `cores`: that the ranks share.
[[nodiscard]] std::string contest_text(const std::vector<Contender>&, int cores);
[[nodiscard]] JsonValue contest_json(const std::vector<Contender>&);

// Median error and ranking of pairs. `others`: share of the machine's cores that other programs
// had.
[[nodiscard]] std::string accuracy_text(const std::vector<Contender>&, double others);
[[nodiscard]] JsonValue accuracy_json(const std::vector<Contender>&, double others);

}  // namespace pleat
