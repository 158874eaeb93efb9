// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat predict --html`: one plan.
#pragma once

#include "cli/report/html/page.hpp"
#include "application/explain/explain_plan.hpp"
#include "core/trace/trace.hpp"

namespace pleat::cli {

// `slots`: the plan's predicted trace, with or without operations.
[[nodiscard]] HtmlPage predict_page(const Request&, const Program&, const StepEstimate&,
                                    const Explanation&, const Trace& slots);

}  // namespace pleat::cli
