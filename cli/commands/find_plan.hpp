// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search for the best plan, with other people's recipes priced beside it.
#pragma once

#include <string>
#include <vector>

#include "cli/options/search_request.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

struct ObjectiveOptions {
  // throughput, time-to-train, cost or memory-headroom: PlanGoal
  std::string objective = "throughput";
  double slack = 0.05;
  int min_gpus = 0;      // of time-to-train and cost; 0: a sixteenth
  bool pareto = false;   // also print step time against memory, as far as the slack goes
};

struct FindPlanOptions {
  TargetOptions target;
  SearchOptions search;
  ObjectiveOptions objective;
  std::vector<std::string> compare;  // "tp=1,pp=2,vpp=8,ep=32", each a recipe
  std::string out_file;              // the winner's plan file; empty: none
  std::string html_file;             // the report as a page; empty: none
  bool force = false;                // these files may be there already
  bool explain = false;              // what binds the winner, and what would change the answer
  std::string tokens;                // to train on, "15T"; empty: not said
  std::string sensitivity;           // plans or search; empty: plans, where something asks for it
  bool json = false;
};

// `pleat plan`. Nothing fits: ConfigError (nothing_fits) with the nearest plan and what would fit.
// A limit that came before any plan: likewise, after what is proven so far. Ctrl-C prints what was
// found so far and ends with 130, SIGTERM with 75.
void find_plan(const FindPlanOptions&);

}  // namespace pleat::cli
