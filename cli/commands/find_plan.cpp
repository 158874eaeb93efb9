// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/find_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "application/explain/explain_plan.hpp"
#include "application/plan/numerics_answer.hpp"
#include "application/plan/recipes.hpp"
#include "cli/options/given_recipes.hpp"
#include "cli/options/token_count.hpp"
#include "cli/report/alternatives_report.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/html/search_page.hpp"
#include "cli/report/numerics_report.hpp"
#include "cli/report/recipes_report.hpp"
#include "cli/report/search_report.hpp"
#include "cli/report/sensitivity_report.hpp"
#include "cli/report/step_report.hpp"
#include "cli/request.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/wrap.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "planner/plan.hpp"
#include "planner/report/explain.hpp"
#include "planner/report/what_would_fit.hpp"

namespace pleat::cli {
namespace {

// So many plans are ranked when a given recipe's place or a page is asked for.
constexpr int kRanked = 100;
constexpr std::size_t kPricedAgain = 20;    // plans, under each change of an input
constexpr double kSensitivitySeconds = 30;  // of each search under a change

// Seconds. A plan for the progress line costs as much as a tenth of a short search.
double patience() { return shows_progress() ? 2.0 : std::numeric_limits<double>::infinity(); }

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
  if (o.json) {
    print(search_json(result, t, config, changes).dump(2, JsonValue::ScalarArrays::line_each) +
          "\n");
    return;
  }
  PlanAnswer answer;
  answer.result = result;
  answer.search = config;
  print(search_text(answer, t, {}, terminal()));
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

[[noreturn]] void nothing_fits(const FindPlanOptions& o, const Target& t,
                               const SearchConfig& config, const SearchResult& result) {
  progress("nothing fits; looking for what would");
  const auto changes = changes_that_fit(t, rest_of_limits(config, result.seconds, result.priced));
  progress("");
  if (o.json) print_result(o, t, config, result, changes);
  std::string text = print_what_would_fit(result, t.cluster, config, changes, !interrupt_pending());
  const std::size_t before = std::string("error: memory: ").size();  // on its first line
  text = wrap_long_lines(text, terminal().columns - before);
  if (interrupt_pending()) {
    if (!o.json) print(text);
    leave_with_note();
  }
  throw_config_error(ExitCode::nothing_fits, "", "memory", text);
}

void write_winner(const FindPlanOptions& o, const Target& t, const Candidate& winner) {
  PlanDocument document =
      document_of({t, winner.plan}, fmt::format("pleat plan, profile {}", t.profile.name));
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
  SensitivityAnswer answer{{}, plans.size(), o.sensitivity == "search"};
  answer.swings =
      answer.searched
          ? search_sensitivity(t, plans, config)
          : plan_sensitivity(t, plans,
                             {config.runtime, config.robust, config.memory_margin, config.threads});
  progress("");
  return answer;
}

Explanation explain_winner(const Target& t, const Candidate& winner, int threads) {
  const Program program = compile(t.model, t.workload, winner.plan, t.runtime);
  return explain_plan({t, winner.plan}, program, winner.estimate, threads);
}

std::string winner_text(const Target& t, const Candidate& winner, const Explanation& x,
                        std::size_t columns) {
  return "\nwhy #1 takes as long\n" + wrap_words(bound_sentences(winner.estimate, t.cluster, x) +
                                                     "\n" + change_sentences(winner.estimate, x),
                                                 columns, {"", "    "});
}

PlanGoal goal_of(const ObjectiveOptions& o) {
  if (o.objective == "time-to-train") return PlanGoal::time_to_train;
  if (o.objective == "cost") return PlanGoal::cost;
  if (o.objective == "memory-headroom") return PlanGoal::memory_headroom;
  return PlanGoal::throughput;
}

// More plans are ranked than shown where a recipe's place, a page or what would change the answer
// asks for it; and always so many that the neighbours of few shown plans are those of many.
int plans_to_rank(const FindPlanOptions& o) {
  int plans = std::max(o.search.top, SearchOptions{}.top);
  if (!o.compare.empty() || !o.html_file.empty()) plans = std::max(plans, kRanked);
  if (tells_sensitivity(o)) plans = std::max(plans, static_cast<int>(kPricedAgain));
  return plans;
}

PlanRequest request_of(const FindPlanOptions& o, const SearchConfig& asked) {
  PlanRequest request{.search = asked,
                      .goal = goal_of(o.objective),
                      .slack = o.objective.slack,
                      .fewest_gpus = o.objective.min_gpus,
                      .front = o.objective.pareto};
  request.search.top = plans_to_rank(o);
  request.search.progress = keep_searching;
  request.search.patience = patience();
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

void print_json(const Target& t, const PlanAnswer& answer, std::optional<double> tokens,
                const std::vector<Recipe>& recipes, const NumericsAnswer& numerics,
                const std::optional<SensitivityAnswer>& changes,
                const std::optional<Explanation>& why) {
  JsonValue document = search_json(answer.result, t, answer.search);
  set_alternatives(answer, t, document);
  JsonValue assumed = JsonValue::array();
  for (const std::string& flag : t.assumed) assumed.push_back(flag);
  document.set("numerics", numerics_json(numerics))
      .set("compared", recipes_json(recipes))
      .set("assumed", assumed);
  if (tokens) {
    document.set("training", training_json(training_time(answer.result.best.front().estimate,
                                                         t.workload, *tokens)));
  }
  if (changes) document.set("sensitivity", sensitivity_json(*changes));
  if (why) {
    document.set("explain", explanation_json(answer.result.best.front().estimate, t.cluster, *why));
  }
  print(document.dump() + "\n");
}

void print_text(const FindPlanOptions& o, const Target& t, const PlanAnswer& answer,
                std::optional<double> tokens, const std::vector<Recipe>& recipes,
                const NumericsAnswer& numerics, const std::optional<SensitivityAnswer>& changes,
                const std::optional<Explanation>& why) {
  const Terminal shown = terminal();
  const std::string formats = wrap_long_lines(numerics_text(numerics), shown.columns);
  print(search_text(answer, t, {tokens, recipes, o.out_file}, shown) +
        (formats.empty() ? "" : "\n" + formats) +
        alternatives_text(answer, t, o.objective.slack, shown.columns) +
        recipes_text(recipes, answer.result, shown.columns) +
        (why ? winner_text(t, answer.result.best.front(), *why, shown.columns) : "") +
        (changes ? sensitivity_text(*changes, shown.columns) : "") +
        (o.explain ? search_details(answer.result, shown) : "") + "\n" +
        assumed_lines(t.assumed, shown) + (o.explain ? "" : more_text(answer.result, shown)));
}

}  // namespace

void find_plan(const FindPlanOptions& o) {
  check_outputs({o.out_file, o.html_file}, o.force);
  if (o.sensitivity == "search" && is_headroom(o)) {
    throw_config_error(ExitCode::bad_request, "", "--sensitivity search",
                       "compares step times, not memory", "--sensitivity plans");
  }
  const std::optional<double> tokens = read_tokens(o.tokens);
  Target t = resolve_target(o.target);
  const NumericsQuestion formats = numerics_question(o.search.numerics, t);
  const SearchConfig asked = search_config(o.search, formats, t);
  std::vector<RecipeDraft> drafts = shipped_recipes(t);
  std::ranges::move(given_recipes(t, asked, o.compare), std::back_inserter(drafts));
  catch_interrupts();
  progress(fmt::format("searching plans of {} on {} x {}", t.model.name, t.gpus, t.cluster.name));
  require_fewer_gpus(o.objective, t.gpus);
  PlanAnswer answer = plan(t, request_of(o, asked));
  progress("");
  t.gpus = answer.search.gpus;
  answer.search.progress = [](const SearchProgress&) { return !interrupt_pending(); };
  SearchResult& result = answer.result;
  if (result.best.empty() && !result.optimal) nothing_found(o, t, answer.search, result);
  if (result.best.empty()) nothing_fits(o, t, answer.search, result);
  const std::vector<Recipe> recipes = price_recipes(t, answer.search, drafts, result);
  const NumericsAnswer numerics = numerics_answer(formats, t, answer.search, result);
  auto changes = sensitivity_of(o, t, answer.search, result);
  if (!o.html_file.empty()) {
    write_page(o.html_file,
               search_page(t, answer.search, result, recipes, *changes, winner_slots(t, result)));
  }
  if (!tells_sensitivity(o)) changes.reset();  // for the page alone
  keep_first(static_cast<std::size_t>(o.search.top), result);
  if (!o.out_file.empty()) write_winner(o, t, result.best.front());
  std::optional<Explanation> why;
  if (o.explain) why = explain_winner(t, result.best.front(), answer.search.threads);
  if (o.json) {
    print_json(t, answer, tokens, recipes, numerics, changes, why);
  } else {
    print_text(o, t, answer, tokens, recipes, numerics, changes, why);
  }
  if (interrupt_pending()) leave_with_note();
}

}  // namespace pleat::cli
