// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat predict --html`: one plan.
#pragma once

#include "application/explain/explain_plan.hpp"
#include "cli/report/html/page.hpp"
#include "core/trace/trace.hpp"

namespace pleat::cli {

// `slots`: the plan's predicted trace, with or without operations.
// `commands`: how the plan is exported and run, a command a line.
[[nodiscard]] HtmlPage predict_page(const Request&, const Program&, const StepEstimate&,
                                    const Explanation&, const Trace& slots,
                                    const std::string& commands);

}  // namespace pleat::cli
