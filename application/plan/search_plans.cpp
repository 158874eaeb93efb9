// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/plan/search_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "application/request/given_recipes.hpp"
#include "application/request/global_batch.hpp"
#include "application/request/searched_plan.hpp"
#include "console/wrap.hpp"
#include "core/diagnostics.hpp"
#include "planner/report/what_would_fit.hpp"

namespace pleat {
namespace {

// So many plans are ranked when a given recipe's place or a page is asked for.
constexpr int kRanked = 100;
constexpr std::size_t kPricedAgain = 20;    // plans, under each change of an input
constexpr double kSensitivitySeconds = 30;  // of each search under a change

bool is_headroom(const FindPlanOptions& o) { return o.objective.objective == "memory-headroom"; }

// Empty where nothing asks for it.
std::optional<SensitivityAnswer> sensitivity_of(const FindPlanOptions& o, const FoundPlans& found,
                                                const SearchHooks& hooks) {
  if (!tells_sensitivity(o) && o.html_file.empty()) return {};
  const Target& t = found.target;
  SearchConfig config = found.answer.search;
  hooks.tell("what would change the answer");
  std::vector<Candidate> plans = found.answer.result.best;
  // Headroom is no matter of step times: there the best plan alone is priced again.
  plans.resize(is_headroom(o) ? 1 : std::min(plans.size(), kPricedAgain));
  if (config.time_limit <= 0) config.time_limit = kSensitivitySeconds;
  SensitivityAnswer answer{{}, plans.size(), o.sensitivity == "search"};
  answer.swings =
      answer.searched
          ? search_sensitivity(t, plans, config)
          : plan_sensitivity(t, plans,
                             {config.runtime, config.robust, config.memory_margin, config.threads});
  hooks.tell("");
  return answer;
}

Explanation explain_winner(const Target& t, const Candidate& winner, int threads) {
  const Program program = compile(t.model, t.workload, winner.plan, t.runtime);
  return explain_plan({t, winner.plan}, program, winner.estimate, threads);
}

PlanGoal goal_of(const ObjectiveOptions& o) {
  if (o.objective == "time-to-train") return PlanGoal::time_to_train;
  if (o.objective == "cost") return PlanGoal::cost;
  if (o.objective == "memory-headroom") return PlanGoal::memory_headroom;
  return PlanGoal::throughput;
}

// More plans are ranked than shown where a recipe's place, a page or what would change the answer
// asks for it, and all of them are certain then. Always so many that the neighbours of few shown
// plans are those of many.
void rank_plans(const FindPlanOptions& o, PlanRequest& request) {
  SearchConfig& c = request.search;
  c.top = std::max(o.search.top, SearchOptions{}.top);
  const bool place = !o.compare.empty() || !o.plan_file.empty() || !o.html_file.empty();
  if (!place && !tells_sensitivity(o)) return;
  int ranked = c.top;
  if (place) ranked = std::max(ranked, kRanked);
  if (tells_sensitivity(o)) ranked = std::max(ranked, static_cast<int>(kPricedAgain));
  if (request.goal == PlanGoal::throughput) request.ranked = ranked;
  else c.top = c.certain = ranked;
}

PlanRequest request_of(const FindPlanOptions& o, const SearchConfig& asked,
                       const SearchHooks& hooks) {
  PlanRequest request{.search = asked,
                      .goal = goal_of(o.objective),
                      .slack = o.objective.slack,
                      .fewest_gpus = o.objective.min_gpus,
                      .front = o.objective.pareto};
  rank_plans(o, request);
  request.search.progress = [hooks](const SearchProgress& p) {
    if (hooks.show) hooks.show(p);
    return hooks.goes_on();
  };
  request.search.patience = hooks.patience;
  return request;
}

void require_fewer_gpus(const ObjectiveOptions& o, int gpus) {
  const PlanGoal goal = goal_of(o);
  if (goal != PlanGoal::time_to_train && goal != PlanGoal::cost) return;
  if (o.min_gpus <= gpus) return;
  throw_config_error(ExitCode::bad_request, "--min-gpus", "",
                     fmt::format("{} is more than the {} GPUs of the job", o.min_gpus, gpus),
                     "sizes are tried from --gpus downwards");
}

}  // namespace

bool tells_sensitivity(const FindPlanOptions& o) { return o.explain || !o.sensitivity.empty(); }

FoundPlans search_plans(const FindPlanOptions& o, const SearchHooks& hooks) {
  if (o.sensitivity == "search" && is_headroom(o)) {
    throw_config_error(ExitCode::bad_request, "", "--sensitivity search",
                       "compares step times, not memory", "--sensitivity plans");
  }
  FoundPlans found;
  found.tokens = read_tokens(o.tokens);
  NumericsRequest asked_formats = o.search.numerics;
  std::optional<RecipeDraft> given_plan;
  if (o.plan_file.empty()) {
    found.target = resolve_target(o.target);
  } else {
    SearchedPlan searched = searched_plan(o);
    found.target = std::move(searched.target);
    asked_formats = std::move(searched.numerics);
    given_plan = {o.plan_file, "given by --plan", searched.document.plan, true, true};
  }
  Target& t = found.target;
  const NumericsQuestion formats = numerics_question(asked_formats, t);
  const SearchConfig asked = search_config(o.search, formats, t);
  std::vector<RecipeDraft> drafts = shipped_recipes(t);
  if (given_plan) drafts.insert(drafts.begin(), *given_plan);
  std::ranges::move(given_recipes(t, asked, o.compare), std::back_inserter(drafts));
  hooks.tell(fmt::format("searching plans of {} on {} x {}", t.model.name, t.gpus, t.cluster.name));
  require_fewer_gpus(o.objective, t.gpus);
  PlanAnswer& answer = found.answer;
  answer = plan(t, request_of(o, asked, hooks));
  hooks.tell("");
  t.gpus = answer.search.gpus;
  answer.search.progress = [hooks](const SearchProgress&) { return hooks.goes_on(); };
  const SearchResult& result = answer.result;
  if (result.best.empty()) return found;
  found.recipes = price_recipes(t, answer.search, drafts, result);
  found.numerics = numerics_answer(formats, t, answer.search, result);
  found.sensitivity = sensitivity_of(o, found, hooks);
  if (o.explain) found.why = explain_winner(t, result.best.front(), answer.search.threads);
  return found;
}

void throw_none_found(const SearchResult& result) {
  throw_config_error(ExitCode::nothing_fits, "", "--time-limit, --max-evaluations",
                     fmt::format("no plan that fits was found in {:.2f} s and {} estimates, which "
                                 "does not prove that none does",
                                 result.seconds, result.priced),
                     "allow more");
}

std::vector<FittingChange> what_would_fit(const FoundPlans& found) {
  const SearchResult& result = found.answer.result;
  return changes_that_fit(found.target,
                          rest_of_limits(found.answer.search, result.seconds, result.priced));
}

std::string nothing_fits_text(const FoundPlans& found, const std::vector<FittingChange>& changes,
                              bool complete, std::size_t columns) {
  const std::string text = print_what_would_fit(found.answer.result, found.target.cluster,
                                                found.answer.search, changes, complete);
  const std::size_t before = std::string("error: memory: ").size();  // on its first line
  return wrap_long_lines(text, columns - before);
}

PlanDocument document_of(const FoundPlans& found, const Candidate& c) {
  const Target& t = found.target;
  PlanDocument document =
      document_of({t, c.plan}, fmt::format("pleat plan, profile {}", t.profile.name));
  document.predicted = PlanPrediction{c.estimate.step.base(), c.estimate.peak_bytes()};
  return document;
}

}  // namespace pleat
