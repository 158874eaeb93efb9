// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat capacity --html`: the offers side by side, what the recommended ones take, what matters
// most.
#pragma once

#include <string>

#include "cli/report/html/page.hpp"
#include "planner/capacity/answer.hpp"

namespace pleat::cli {

// `assumed`: a last paragraph, may be empty. Works without any offer that can be run.
// `model`: as it was asked for, of the commands that plan the recommended offers.
[[nodiscard]] HtmlPage capacity_page(const CapacityAnswer&, const std::string& model,
                                     const std::string& assumed);

}  // namespace pleat::cli
