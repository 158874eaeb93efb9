// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/found_plans_json.hpp"

#include <algorithm>

#include "cli/report/alternatives_report.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/numerics_report.hpp"
#include "cli/report/recipes_report.hpp"
#include "cli/report/sensitivity_report.hpp"
#include "cli/report/step_report.hpp"
#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat::cli {

JsonValue found_plans_json(const FoundPlans& found) {
  const Target& t = found.target;
  const StepEstimate& best = found.answer.result.best.front().estimate;
  JsonValue document = search_json(found.answer.result, t, found.answer.search);
  set_alternatives(found.answer, t, document);
  // Each plan as `pleat predict --plan` reads it.
  JsonValue* plans = nullptr;
  for (JsonMember& m : document.mutable_members())
    if (m.key == "best") plans = &m.value;
  const std::vector<Candidate>& shown = found.answer.result.best;
  if (plans != nullptr) {
    std::vector<JsonValue>& items = plans->mutable_items();
    for (std::size_t i = 0; i < std::min(items.size(), shown.size()); ++i) {
      items[i].set("file",
                   parse_json(write_plan_document(document_of(found, shown[i])), "plan file"));
    }
  }
  JsonValue assumed = JsonValue::array();
  for (const std::string& flag : t.assumed) assumed.push_back(flag);
  document.set("numerics", numerics_json(found.numerics))
      .set("compared", recipes_json(found.recipes, found.answer.result))
      .set("assumed", assumed);
  if (found.tokens) {
    document.set("training", training_json(training_time(best, t.workload, *found.tokens)));
  }
  if (found.sensitivity) document.set("sensitivity", sensitivity_json(*found.sensitivity));
  if (found.why) document.set("explain", explanation_json(best, t.cluster, *found.why));
  return document;
}

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
