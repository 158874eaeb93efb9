// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The comparison as text, JSON, Markdown (docs/VALIDATION.md) and HTML.
#pragma once

#include <string>
#include <vector>

#include "cli/report/html/page.hpp"
#include "console/terminal.hpp"
#include "validation/comparison.hpp"

namespace pleat::cli {

// The summary comes last, where a terminal shows it.
[[nodiscard]] std::string validation_text(const std::vector<ComparedRun>&, const Summary&,
                                          const Terminal&);
[[nodiscard]] std::string validation_json(const std::vector<ComparedRun>&, const Summary&);
// The summary; rows are printed by validation_text.
[[nodiscard]] std::string validation_markdown(const std::vector<ComparedRun>&, const Summary&);
[[nodiscard]] HtmlPage validation_page(const std::vector<ComparedRun>&, const Summary&);

}  // namespace pleat::cli
