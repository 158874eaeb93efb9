// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "application/launch/plan_launch.hpp"
#include "application/learn/runs_to_learn.hpp"
#include "application/tune/contest.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "planner/report/what_would_fit.hpp"
#include "planner/search/search.hpp"

namespace pleat {
namespace {

constexpr int kPlansRanked = 48;

PooledPlan pooled(const Target& t, const Plan& plan, const std::string& provenance) {
  PooledPlan p;
  p.document = document_of({t, plan}, provenance);
  p.run = run_to_learn(LoggedRun{.file = summary(plan), .document = p.document}, t.cluster);
  const StepEstimate e = p.run.price(t.profile);
  p.seconds = e.step.base();
  p.low = e.low.base();
  p.high = e.high.base();
  p.bytes = e.peak_bytes();
  return p;
}

bool megatron_runs(const Target& t, const Plan& plan) {
  try {
    (void)launch_arguments(document_of({t, plan}, ""), "plan", interop::Trainer::megatron,
                           t.cluster, "");
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

}  // namespace

TrialPool find_trial_pool(const Target& t, SearchConfig config) {
  config.top = config.certain = kPlansRanked;
  progress(fmt::format("searching plans of {} on {} x {}", t.model.name, t.gpus, t.cluster.name));
  SearchResult result = search(t, config);
  progress("");
  if (result.best.empty()) {
    throw_config_error(ExitCode::nothing_fits, "", "memory",
                       print_what_would_fit(result, t.cluster, config, {}));
  }
  if (t.runtime == Runtime::pleat) {
    std::erase_if(result.best, [&](const Candidate& c) { return !runs_here(t, c.plan); });
    if (result.best.empty()) {
      throw_config_error(ExitCode::nothing_fits, "", "plan",
                         fmt::format("Pleat's backend runs none of the plans for {} on {} ranks",
                                     t.model.name, t.gpus));
    }
  }
  if (t.runtime == Runtime::megatron) {
    std::erase_if(result.best, [&](const Candidate& c) { return !megatron_runs(t, c.plan); });
    if (result.best.empty()) {
      throw_config_error(
          ExitCode::nothing_fits, "", "plan",
          fmt::format("Megatron-LM runs none of the plans for {} on {} GPUs", t.model.name, t.gpus),
          "pleat plan -o plan.json, then pleat export --to megatron plan.json says why");
    }
  }
  TrialPool pool;
  pool.enumerated = result.enumerated;
  pool.priced = result.priced;
  pool.seconds = result.seconds;
  for (const Candidate& c : result.best)
    pool.plans.push_back(pooled(t, c.plan, "pleat tune, profile " + t.profile.name));
  return pool;
}

std::size_t place_of(const Trial& trial, const Target& t, TrialPool& pool) {
  const PlanDocument d = read_plan_document(trial.plan, fmt::format("trial {}", trial.number));
  for (std::size_t i = 0; i < pool.plans.size(); ++i)
    if (pool.plans[i].document.plan == d.plan) return i;
  pool.plans.push_back(pooled(t, d.plan, d.provenance));
  return pool.plans.size() - 1;
}

std::string trial_plan_text(const PlanDocument& document) {
  PlanDocument d = document;
  d.predicted.reset();
  d.provenance = "pleat tune";
  return plan_document_json(d).dump(0);
}

}  // namespace pleat
