// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/predicted_plan_json.hpp"

#include "cli/report/explain_report.hpp"
#include "cli/report/step_report.hpp"

namespace pleat::cli {

// The simulator's report with what the question left open.
JsonValue predicted_plan_json(const PredictedPlan& p) {
  const Target& on = p.request.target;
  JsonValue document = estimate_json(p.estimate, p.program, on.cluster, on.profile);
  JsonValue list = JsonValue::array();
  for (const std::string& flag : on.assumed) list.push_back(flag);
  document.set("assumed", list);
  if (p.tokens) {
    document.set("training", training_json(training_time(p.estimate, on.workload, *p.tokens)));
  }
  if (p.why) document.set("explain", explanation_json(p.estimate, on.cluster, *p.why));
  return document;
}

}  // namespace pleat::cli
