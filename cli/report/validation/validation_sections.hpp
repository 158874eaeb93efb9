// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The comparison as titled tables, which text, Markdown and HTML render alike.
#pragma once

#include <string>
#include <vector>

#include "console/tables.hpp"
#include "validation/comparison.hpp"

namespace pleat::cli {

struct Section {
  std::string title;
  std::string text;  // a line or two before the table; may be empty
  Table table;       // no columns: none
};

// Summaries first, then headlines, then what was missed.
[[nodiscard]] std::vector<Section> summary_sections(const std::vector<ComparedRun>&,
                                                    const Summary&);
// Where hand-tuned recipes stand among the plans of a search.
[[nodiscard]] Section recipe_section(const std::vector<RecipePlace>&);
// One section a tier: every row with its measured and predicted time and the biggest terms.
[[nodiscard]] std::vector<Section> row_sections(const std::vector<ComparedRun>&);

}  // namespace pleat::cli
