// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What would change a search's answer, in words, as a table and as JSON.
#pragma once

#include <string>

#include "application/plan/search_plans.hpp"
#include "console/tables.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

// One line an input: the first plan's step and the best plan under less and more of it.
[[nodiscard]] Table sensitivity_table(const SensitivityAnswer&);

// How it was found, and which change gives which other plan, if any; one sentence a line, no final
// newline.
[[nodiscard]] std::string sensitivity_sentences(const SensitivityAnswer&);

// In so many columns.
[[nodiscard]] std::string sensitivity_text(const SensitivityAnswer&, std::size_t columns);
[[nodiscard]] JsonValue sensitivity_json(const SensitivityAnswer&);  // docs/FORMATS.md, "Search"

}  // namespace pleat::cli
