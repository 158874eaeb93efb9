// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search for the best plan is asked, as it was given: workload, pins, goal, recipes to price
// beside it.
#pragma once

#include <string>
#include <vector>

#include "application/request/plan_words.hpp"
#include "application/request/search_request.hpp"

namespace pleat {

struct ObjectiveOptions {
  // throughput, time-to-train, cost or memory-headroom: PlanGoal
  std::string objective = "throughput";
  double slack = 0.05;
  int min_gpus = 0;     // of time-to-train and cost; 0: a sixteenth
  bool pareto = false;  // also print step time against memory, as far as the slack goes
};

struct FindPlanOptions {
  std::string plan_file;  // whose model, cluster and workload are searched anew; empty: flags say
  TargetOptions target;
  SearchOptions search;
  ObjectiveOptions objective;
  std::vector<std::string> compare;  // "tp=1,pp=2,vpp=8,ep=32" or a plan file, each a recipe
  std::string out_file;              // the winner's plan file, "plans/" of all; empty: none
  std::string html_file;             // the report as a page; empty: none
  bool force = false;                // these files may be there already
  bool explain = false;              // what binds the winner, and what would change the answer
  std::string tokens;                // to train on, "15T"; empty: not said
  std::string sensitivity;           // plans or search; empty: plans, where something asks for it
  bool json = false;
};

}  // namespace pleat
