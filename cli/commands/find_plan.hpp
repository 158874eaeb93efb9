// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search for the best plan, with other people's recipes priced beside it.
#pragma once

#include "application/request/plan_question.hpp"

namespace pleat::cli {

// `pleat plan`. Nothing fits: ConfigError (nothing_fits) with the nearest plan and what would fit.
// A limit that came before any plan: likewise, after what is proven so far. Ctrl-C prints what was
// found so far and ends with 130, SIGTERM with 75.
void find_plan(const FindPlanOptions&);

}  // namespace pleat::cli
