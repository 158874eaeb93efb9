// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/predict_plan.hpp"

#include <fmt/format.h>

#include <optional>

#include "cli/options/token_count.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/html/predict_page.hpp"
#include "cli/report/step_report.hpp"
#include "cli/request.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/write_file.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/estimate.hpp"
#include "simulator/memory_timeline.hpp"

namespace pleat::cli {
namespace {

// The simulator's report with what the command line left open.
std::string as_json(JsonValue document, const Request& r, const StepEstimate& e,
                    std::optional<double> tokens, const std::optional<Explanation>& x) {
  JsonValue list = JsonValue::array();
  for (const std::string& flag : r.target.assumed) list.push_back(flag);
  document.set("assumed", list);
  if (tokens) {
    document.set("training", training_json(training_time(e, r.target.workload, *tokens)));
  }
  if (x) document.set("explain", explanation_json(e, r.target.cluster, *x));
  return document.dump() + "\n";
}

void say_if_refused(const Request& r) {
  const Target& on = r.target;
  const char* const rule = refused_by(on.runtime, on.model, on.workload, r.plan, on.cluster.gpu);
  if (rule == nullptr) return;
  note(fmt::format("{} does not run this plan: {} ({})", runtime_name(on.runtime),
                   why_refused(rule), rule));
}

}  // namespace

void predict(const PredictOptions& o) {
  check_outputs({o.trace_file, o.memory_file, o.html_file, o.out_file}, o.force);
  const std::optional<double> tokens = read_tokens(o.tokens);
  const Request r = resolve_request(o.plan);
  const Program program = compile_request(r);
  const StepEstimate e = estimate(program, r.target.cluster, r.target.profile);
  say_if_refused(r);
  std::optional<Explanation> x;
  if (o.explain || !o.html_file.empty()) x = explain_plan(r, program, e, o.threads);
  if (!o.trace_file.empty()) {
    write_and_say(o.trace_file,
                  write_trace(predicted_trace(program, r.target.cluster, r.target.profile,
                                              o.trace_microbatches)));
  }
  if (!o.html_file.empty()) {
    const Trace slots = predicted_trace(program, r.target.cluster, r.target.profile, 0);
    write_page(o.html_file, predict_page(r, program, e, *x, slots));
  }
  if (!o.memory_file.empty()) {
    write_and_say(o.memory_file,
                  memory_timeline_json(memory_timeline(program, r.target.cluster, r.target.profile),
                                       program));
  }
  if (!o.out_file.empty()) {
    PlanDocument document =
        document_of(r, fmt::format("pleat predict, profile {}", r.target.profile.name));
    document.predicted = PlanPrediction{e.step.base(), e.peak_bytes()};
    write_and_say(o.out_file, write_plan_document(document));
  }
  if (!o.explain) x.reset();
  if (o.json) {
    print(as_json(estimate_json(e, program, r.target.cluster, r.target.profile), r, e, tokens, x));
    return;
  }
  const Terminal shown = terminal();
  print(step_text(e, r, tokens, shown) +
        (x ? explanation_text(e, r.target.cluster, *x, shown.columns) : "") + "\n" +
        assumed_lines(r.target.assumed, shown));
}

}  // namespace pleat::cli
