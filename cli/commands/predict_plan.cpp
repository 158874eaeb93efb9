// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/predict_plan.hpp"

#include "application/plan/predict_plan.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/found_plans_json.hpp"
#include "cli/report/html/predict_page.hpp"
#include "cli/report/run_commands.hpp"
#include "cli/report/step_report.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/write_file.hpp"
#include "simulator/memory_timeline.hpp"

namespace pleat::cli {

void predict(const PredictOptions& o) {
  check_outputs({o.trace_file, o.memory_file, o.html_file, o.out_file}, o.force);
  PredictedPlan p = predict_plan({.plan = o.plan,
                                  .tokens = o.tokens,
                                  .explain = o.explain || !o.html_file.empty(),
                                  .threads = o.threads});
  const Target& on = p.request.target;
  if (!p.refusal.empty()) note(p.refusal);
  if (!o.trace_file.empty()) {
    write_and_say(o.trace_file, write_trace(predicted_trace(p.program, on.cluster, on.profile,
                                                            o.trace_microbatches)));
  }
  if (!o.html_file.empty()) {
    const Trace slots = predicted_trace(p.program, on.cluster, on.profile, 0);
    write_page(o.html_file, predict_page(p.request, p.program, p.estimate, *p.why, slots,
                                        run_commands(o.plan.target, on, p.request.plan,
                                                     o.out_file.empty() ? o.plan.plan_file
                                                                        : o.out_file)));
  }
  if (!o.memory_file.empty()) {
    write_and_say(
        o.memory_file,
        memory_timeline_json(memory_timeline(p.program, on.cluster, on.profile), p.program));
  }
  if (!o.out_file.empty()) write_and_say(o.out_file, write_plan_document(document_of(p)));
  if (!o.explain) p.why.reset();
  if (o.json) {
    print(predicted_plan_json(p).dump() + "\n");
    return;
  }
  const Terminal shown = terminal();
  print_report(step_text(p.estimate, p.request, p.tokens, shown) +
        (p.why ? explanation_text(p.estimate, on.cluster, *p.why, shown.columns) : "") + "\n" +
        assumed_lines(on.assumed, shown));
}

}  // namespace pleat::cli
