// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/find_plan.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "application/plan/search_plans.hpp"
#include "cli/report/alternatives_report.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/found_plans_json.hpp"
#include "cli/report/html/search_page.hpp"
#include "cli/report/numerics_report.hpp"
#include "cli/report/recipes_report.hpp"
#include "cli/report/run_commands.hpp"
#include "cli/report/search_report.hpp"
#include "cli/report/sensitivity_report.hpp"
#include "cli/report/step_report.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/wrap.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "planner/report/what_would_fit.hpp"

namespace pleat::cli {
namespace {

// Seconds. A plan for the progress line costs as much as a tenth of a short search.
double patience() { return shows_progress() ? 2.0 : std::numeric_limits<double>::infinity(); }

void show_search(const SearchProgress& p) {
  static double next = 1.0;  // seconds
  if (p.seconds < next) return;
  next = p.seconds + 0.5;
  const std::string best =
      p.best ? fmt::format("best so far {:.2f} ms", p.best->base() * 1e3) : "none fits so far";
  const std::string bound = p.changes              ? "trying changes of the best plans"
                            : p.bound == Seconds{} ? "no bound yet"
                                                   : fmt::format("none is below {:.2f} ms",
                                                                 p.bound.base() * 1e3);
  progress(fmt::format("{:.0f} s, {} plans priced, {}, {}", p.seconds, p.priced, best, bound));
}

void print_result(const FindPlanOptions& o, const FoundPlans& found,
                  const std::vector<FittingChange>& changes = {}) {
  const SearchResult& result = found.answer.result;
  if (o.json) {
    print(search_json(result, found.target, found.answer.search, changes)
              .dump(2, JsonValue::ScalarArrays::line_each) +
          "\n");
    return;
  }
  PlanAnswer answer;
  answer.result = result;
  answer.search = found.answer.search;
  print_report(search_text(answer, found.target, {}, terminal()));
}

[[noreturn]] void leave_with_note() {
  flush_output();
  note("interrupted");
  leave_interrupted();
}

[[noreturn]] void nothing_found(const FindPlanOptions& o, const FoundPlans& found) {
  print_result(o, found);
  if (interrupt_pending()) leave_with_note();
  throw_none_found(found.answer.result);
}

[[noreturn]] void nothing_fits(const FindPlanOptions& o, const FoundPlans& found) {
  progress("nothing fits; looking for what would");
  const auto changes = what_would_fit(found);
  progress("");
  if (o.json) print_result(o, found, changes);
  const std::string text =
      nothing_fits_text(found, changes, !interrupt_pending(), terminal().columns);
  if (interrupt_pending()) {
    if (!o.json) print(text);
    leave_with_note();
  }
  throw_config_error(ExitCode::nothing_fits, "", "memory", text);
}

// The winner's slots, without operations.
Trace winner_slots(const FoundPlans& found) {
  const Target& t = found.target;
  const Plan& winner = found.answer.result.best.front().plan;
  const Program program = compile(t.model, t.workload, winner, t.runtime);
  return predicted_trace(program, t.cluster, t.profile, 0);
}

std::string winner_text(const Target& t, const Candidate& winner, const Explanation& x,
                        std::size_t columns) {
  return "\nwhy #1 takes as long\n" + wrap_words(bound_sentences(winner.estimate, t.cluster, x) +
                                                     "\n" + change_sentences(winner.estimate, x),
                                                 columns, {"", "    "});
}

void print_text(const FindPlanOptions& o, const FoundPlans& found) {
  const Terminal shown = terminal();
  const Target& t = found.target;
  const SearchResult& result = found.answer.result;
  const std::string formats = wrap_long_lines(numerics_text(found.numerics), shown.columns);
  print_report(search_text(found.answer, t, {found.tokens, found.recipes, o.out_file}, shown) +
        (formats.empty() ? "" : "\n" + formats) +
        alternatives_text(found.answer, t, o.objective.slack, shown.columns) +
        recipes_text(found.recipes, result, shown.columns) +
        (found.why ? winner_text(t, result.best.front(), *found.why, shown.columns) : "") +
        (found.sensitivity ? sensitivity_text(*found.sensitivity, shown.columns) : "") +
        (o.explain ? search_details(result, shown) : "") + "\n" + assumed_lines(t.assumed, shown) +
        (o.explain ? "" : more_text(result, shown)));
}

bool is_folder(const std::string& out) { return out.ends_with('/'); }

// "plans/plan-1.json" of the best, and so on.
std::string file_of(const std::string& folder, std::size_t rank) {
  return fmt::format("{}plan-{}.json", folder, rank);
}

// Of the best plan; empty: none is written.
std::string plan_file(const FindPlanOptions& o) {
  return is_folder(o.out_file) ? file_of(o.out_file, 1) : o.out_file;
}

void check_plan_files(const FindPlanOptions& o) {
  std::vector<std::string> files{o.html_file};
  if (!is_folder(o.out_file)) {
    files.push_back(o.out_file);
  } else {
    make_folder(o.out_file.substr(0, o.out_file.size() - 1));
    for (int i = 1; i <= o.search.top; ++i)
      files.push_back(file_of(o.out_file, static_cast<std::size_t>(i)));
  }
  check_outputs(files, o.force);
}

void write_plan_files(const FindPlanOptions& o, const FoundPlans& found) {
  if (o.out_file.empty()) return;
  const std::vector<Candidate>& best = found.answer.result.best;
  const std::size_t count = is_folder(o.out_file) ? best.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    write_and_say(is_folder(o.out_file) ? file_of(o.out_file, i + 1) : o.out_file,
                  write_plan_document(document_of(found, best[i])));
  }
}

}  // namespace

void find_plan(const FindPlanOptions& o) {
  check_plan_files(o);
  catch_interrupts();
  SearchHooks hooks;
  hooks.keep_on = [] { return !interrupt_pending(); };  // Ctrl-C ends the search
  hooks.say = progress;
  hooks.show = show_search;
  hooks.patience = patience();
  FoundPlans found = search_plans(o, hooks);
  SearchResult& result = found.answer.result;
  if (result.best.empty() && !result.optimal) nothing_found(o, found);
  if (result.best.empty()) nothing_fits(o, found);
  if (!o.html_file.empty()) {
    write_page(o.html_file, search_page(found.target, found.answer.search, result, found.recipes,
                                        *found.sensitivity, winner_slots(found),
                                        run_commands(o.target, found.target,
                                                     result.best.front().plan, plan_file(o))));
  }
  if (!tells_sensitivity(o)) found.sensitivity.reset();  // for the page alone
  keep_first(static_cast<std::size_t>(o.search.top), result);
  write_plan_files(o, found);
  if (o.json) {
    print(found_plans_json(found).dump() + "\n");
  } else {
    print_text(o, found);
  }
  if (interrupt_pending()) leave_with_note();
}

}  // namespace pleat::cli
