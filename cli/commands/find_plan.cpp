// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/find_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "console/early_end.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/html/search_page.hpp"
#include "console/write_file.hpp"
#include "console/output.hpp"
#include "cli/report/recipes_report.hpp"
#include "cli/report/sensitivity_report.hpp"
#include "cli/options/given_recipes.hpp"
#include "cli/request.hpp"
#include "application/explain/explain_plan.hpp"
#include "application/plan/recipes.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "planner/report/explain.hpp"
#include "planner/report/shortfall.hpp"

namespace pleat::cli {
namespace {

// So many plans are ranked when a given recipe's place or a page is asked for.
constexpr int kRanked = 100;
constexpr std::size_t kPricedAgain = 20;  // plans, under each change of an input
constexpr double kSensitivitySeconds = 30;  // of each search under a change

// Seconds. A plan for the progress line costs as much as a tenth of a short search.
double patience() {
  return shows_progress() ? 2.0 : std::numeric_limits<double>::infinity();
}

// Told on the progress line; Ctrl-C ends the search.
bool keep_searching(const SearchProgress& p) {
  static double next = 1.0;  // seconds
  if (p.seconds >= next) {
    next = p.seconds + 0.5;
    const std::string best =
        p.best ? fmt::format("best so far {:.2f} ms", p.best->base() * 1e3) : "none fits so far";
    const std::string bound = p.bound == Seconds{}
                                  ? "no bound yet"
                                  : fmt::format("none is below {:.2f} ms", p.bound.base() * 1e3);
    progress(fmt::format("{:.0f} s, {} plans priced, {}, {}", p.seconds, p.priced, best, bound));
  }
  return !interrupt_pending();
}

void print_result(const FindPlanOptions& o, const Target& t, const SearchConfig& config,
                  const SearchResult& result, const std::vector<FittingChange>& changes = {}) {
  print(o.json
            ? search_json(result, t.model, t.cluster, t.workload, t.profile, config, changes)
            : print_search(result, t.model, t.cluster, t.workload, t.profile, config));
}

[[noreturn]] void leave_with_note() {
  flush_output();
  note("interrupted");
  leave_interrupted();
}

[[noreturn]] void nothing_found(const FindPlanOptions& o, const Target& t,
                                const SearchConfig& config, const SearchResult& result) {
  print_result(o, t, config, result);
  if (interrupt_pending()) leave_with_note();
  throw_config_error(ExitCode::nothing_fits, "", "--time-limit, --max-evaluations",
                     fmt::format("no plan that fits was found in {:.2f} s and {} estimates, which "
                                 "does not prove that none does",
                                 result.seconds, result.priced),
                     "allow more");
}

[[noreturn]] void nothing_fits(const FindPlanOptions& o, const Target& t, const SearchConfig& config,
                               const SearchResult& result) {
  progress("nothing fits; looking for what would");
  const auto changes = changes_that_fit(t.model, t.cluster, t.workload, t.profile,
                                        rest_of_limits(config, result.seconds, result.priced));
  progress("");
  if (o.json) print_result(o, t, config, result, changes);
  const std::string text = print_shortfall(result, t.cluster, config, changes, !interrupt_pending());
  if (interrupt_pending()) {
    if (!o.json) print(text);
    leave_with_note();
  }
  throw_config_error(ExitCode::nothing_fits, "", "memory", text);
}

void write_winner(const FindPlanOptions& o, const Target& t, const Candidate& winner) {
  PlanDocument document = document_of({t, winner.plan},
                                      fmt::format("pleat plan, profile {}", t.profile.name));
  document.predicted = PlanPrediction{winner.estimate.step.base(), winner.estimate.peak_bytes()};
  write_and_say(o.out_file, write_plan_document(document));
}

// The winner's slots, without operations.
Trace winner_slots(const Target& t, const SearchResult& result) {
  const Program program = compile(t.model, t.workload, result.best.front().plan, t.runtime);
  return predicted_trace(program, t.cluster, t.profile, 0);
}

bool is_headroom(const FindPlanOptions& o) { return o.objective.objective == "memory-headroom"; }

bool tells_sensitivity(const FindPlanOptions& o) { return o.explain || !o.sensitivity.empty(); }

// Empty where nothing asks for it.
std::optional<SensitivityAnswer> sensitivity_of(const FindPlanOptions& o, const Target& t,
                                                SearchConfig config, const SearchResult& result) {
  if (!tells_sensitivity(o) && o.html_file.empty()) return {};
  progress("what would change the answer");
  std::vector<Candidate> plans = result.best;
  // Headroom is no matter of step times: there the best plan alone is priced again.
  plans.resize(is_headroom(o) ? 1 : std::min(plans.size(), kPricedAgain));
  if (config.time_limit <= 0) config.time_limit = kSensitivitySeconds;
  const StepGround ground{t.cluster, t.workload, t.profile};
  SensitivityAnswer answer{{}, plans.size(), o.sensitivity == "search"};
  answer.swings =
      answer.searched
          ? search_sensitivity(t.model, ground, plans, config)
          : plan_sensitivity(t.model, ground, plans,
                             {config.runtime, config.robust, config.memory_margin, config.threads});
  progress("");
  return answer;
}

Explanation explain_winner(const Target& t, const Candidate& winner, int threads) {
  const Program program = compile(t.model, t.workload, winner.plan, t.runtime);
  return explain_plan({t, winner.plan}, program, winner.estimate, threads);
}

std::string winner_text(const Target& t, const Candidate& winner, const Explanation& x) {
  return "\nwhy #1 takes as long:\n" + bound_sentences(winner.estimate, t.cluster, x) + "\n" +
         change_sentences(winner.estimate, x) + "\n";
}

// More are ranked where a recipe's place, a page or what would change the answer asks for it. The
// others are slower ones, as they would have been of a search for so few.
void keep_shown(std::size_t top, SearchResult& result) {
  if (result.best.size() <= top) return;
  result.rejected["slower"] += static_cast<std::int64_t>(result.best.size() - top);
  result.best.resize(top);
  if (result.best_of_layouts.size() > top) result.best_of_layouts.resize(top);
}

std::string as_json(const std::string& search, const ObjectiveResult& found,
                    const std::vector<Recipe>& recipes,
                    const std::optional<SensitivityAnswer>& changes, const JsonValue& why,
                    const std::vector<std::string>& assumed) {
  JsonValue document = parse_json(search, "search");
  if (!found.sizes.is_null()) document.set("sizes", found.sizes);
  if (!found.front.is_null()) {
    document.set("front", found.front)
        .set("front_optimal", found.front_optimal)
        .set("front_priced", found.front_priced);
  }
  if (!found.hint_facts.is_null()) document.set("hint", found.hint_facts);
  JsonValue list = JsonValue::array();
  for (const std::string& flag : assumed) list.push_back(flag);
  document.set("compared", recipes_json(recipes)).set("assumed", list);
  if (changes) document.set("sensitivity", sensitivity_json(*changes));
  if (!why.is_null()) document.set("explain", why);
  return document.dump() + "\n";
}

}  // namespace

void find_plan(const FindPlanOptions& o) {
  check_outputs({o.out_file, o.html_file}, o.force);
  if (o.sensitivity == "search" && is_headroom(o)) {
    throw_config_error(ExitCode::bad_request, "", "--sensitivity search",
                       "compares step times, not memory", "--sensitivity plans");
  }
  Target t = resolve_target(o.target);
  SearchConfig config = search_config(o.search, t);
  std::vector<RecipeDraft> drafts = shipped_recipes(t);
  std::ranges::move(given_recipes(t, config, o.compare), std::back_inserter(drafts));
  config.progress = keep_searching;
  config.patience = patience();
  const bool ranks = !o.compare.empty() || !o.html_file.empty();
  if (ranks) config.top = std::max(o.search.top, kRanked);
  if (tells_sensitivity(o)) {
    config.top = std::max(config.top, static_cast<int>(kPricedAgain));
  }
  catch_interrupts();
  progress(fmt::format("searching plans of {} on {} x {}", t.model.name, t.gpus, t.cluster.name));
  ObjectiveResult found = search_objective(o.objective, t, config);
  SearchResult& result = found.result;
  progress("");
  config.top = o.search.top;
  config.progress = [](const SearchProgress&) { return !interrupt_pending(); };
  if (result.best.empty() && !result.optimal) nothing_found(o, t, config, result);
  if (result.best.empty()) nothing_fits(o, t, config, result);
  const std::vector<Recipe> recipes = price_recipes(t, config, drafts, result);
  const std::string beside = recipes_text(recipes, result);
  auto changes = sensitivity_of(o, t, config, result);
  if (!o.html_file.empty()) {
    write_page(o.html_file, search_page(t, config, result, recipes, *changes,
                                        winner_slots(t, result)));
  }
  if (!tells_sensitivity(o)) changes.reset();  // for the page alone
  keep_shown(static_cast<std::size_t>(o.search.top), result);
  if (!o.out_file.empty()) write_winner(o, t, result.best.front());
  const std::string alternatives =
      (found.hint.empty() ? "" : "\n" + found.hint) + (found.text.empty() ? "" : "\n" + found.text);
  const Candidate& winner = result.best.front();
  std::optional<Explanation> why;
  if (o.explain) why = explain_winner(t, winner, config.threads);
  if (o.json) {
    const JsonValue reasons =
        why ? explanation_json(winner.estimate, t.cluster, *why) : JsonValue();
    print(as_json(search_json(result, t.model, t.cluster, t.workload, t.profile, config), found,
                  recipes, changes, reasons, t.assumed));
  } else {
    print(print_search(result, t.model, t.cluster, t.workload, t.profile, config) + alternatives +
          beside + (why ? winner_text(t, winner, *why) : "") +
          (changes ? sensitivity_text(*changes) : "") + "\n" + assumed_text(t.assumed));
  }
  if (interrupt_pending()) leave_with_note();
}

}  // namespace pleat::cli
