// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/predict.hpp"

#include <fmt/format.h>

#include "cli/report/output.hpp"
#include "cli/report/write_file.hpp"
#include "cli/request.hpp"
#include "core/json/parse.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {
namespace {

// The simulator's report with what the command line left open.
std::string with_assumed(const std::string& json, const std::vector<std::string>& assumed) {
  JsonValue document = parse_json(json, "estimate");
  JsonValue list = JsonValue::array();
  for (const std::string& flag : assumed) list.push_back(flag);
  return document.set("assumed", list).dump() + "\n";
}

}  // namespace

void predict(const PredictOptions& o) {
  if (!o.trace_file.empty()) require_writable(o.trace_file);
  if (!o.out_file.empty()) require_writable(o.out_file);
  const Request r = resolve_request(o.plan);
  const Program program = compile_request(r);
  const StepEstimate e = estimate(program, r.target.cluster, r.target.profile);
  if (!o.trace_file.empty()) {
    write_file(o.trace_file,
               write_trace(predicted_trace(program, r.target.cluster, r.target.profile)));
  }
  if (!o.out_file.empty()) {
    PlanDocument document =
        document_of(r, fmt::format("pleat predict, profile {}", r.target.profile.name));
    document.predicted = PlanPrediction{e.step.base(), e.peak_bytes()};
    write_file(o.out_file, write_plan_document(document));
  }
  if (o.json) {
    print(with_assumed(estimate_json(e, program, r.target.cluster, r.target.profile),
                       r.target.assumed));
    return;
  }
  print(print_estimate(e, program, r.target.cluster, r.target.profile) +
        assumed_text(r.target.assumed));
}

}  // namespace pleat::cli
