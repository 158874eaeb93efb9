// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/plan/predict_plan.hpp"

#include <fmt/format.h>

#include "application/request/global_batch.hpp"
#include "application/request/request.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

std::string refusal_of(const Request& r) {
  const Target& on = r.target;
  const char* const rule = refused_by(on.runtime, on.model, on.workload, r.plan, on.cluster.gpu);
  if (rule == nullptr) return {};
  return fmt::format("{} does not run this plan: {} ({})", runtime_name(on.runtime),
                     why_refused(rule), rule);
}

}  // namespace

PredictedPlan predict_plan(const PredictQuestion& q) {
  PredictedPlan p;
  p.tokens = read_tokens(q.tokens);
  p.request = resolve_request(q.plan);
  p.program = compile_request(p.request);
  p.estimate = estimate(p.program, p.request.target.cluster, p.request.target.profile);
  p.refusal = refusal_of(p.request);
  if (q.explain) p.why = explain_plan(p.request, p.program, p.estimate, q.threads);
  return p;
}

PlanDocument document_of(const PredictedPlan& p) {
  PlanDocument document = document_of(
      p.request, fmt::format("pleat predict, profile {}", p.request.target.profile.name));
  document.predicted = PlanPrediction{p.estimate.step.base(), p.estimate.peak_bytes()};
  return document;
}

}  // namespace pleat
