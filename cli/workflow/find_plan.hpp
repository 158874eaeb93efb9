// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search for the best plan, with other people's recipes priced beside it.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_options.hpp"

namespace pleat::cli {

struct FindPlanOptions {
  TargetOptions target;
  std::string precision, sharding;   // empty: the runtime's default; the search's choice
  std::vector<int> tp, cp, pp, vpp, ep, etp, micro_batch;  // pins
  bool no_recompute = false;
  int top = 5;
  int threads = 0;
  std::vector<std::string> compare;  // "tp=1,pp=2,vpp=8,ep=32", each a recipe
  std::string out_file;              // the winner's plan file; empty: none
  std::string html_file;             // the report as a page; empty: none
  bool json = false;
};

// `pleat plan`. Nothing fits: ConfigError (nothing_fits) with the nearest plan and what would fit.
void find_plan(const FindPlanOptions&);

}  // namespace pleat::cli
