// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/serve/what_if.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <variant>

#include "application/plan/predict_plan.hpp"
#include "application/request/typed_plan.hpp"
#include "cli/commands/commands.hpp"
#include "cli/list_entries.hpp"
#include "cli/numerics_options.hpp"
#include "cli/options/search_options.hpp"
#include "cli/plan_options.hpp"
#include "cli/report/explain_report.hpp"
#include "cli/report/html/charts.hpp"
#include "cli/report/html/estimate_charts.hpp"
#include "cli/report/step_report.hpp"
#include "cli/suggestions.hpp"
#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"
#include "interop/quoting.hpp"
#include "simulator/trace_drawing.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kChangesShown = 25;

std::string command_of(const char* name, const Words& words) {
  std::string line = std::string("pleat ") + name;
  for (const std::string& word : words) line += " " + interop::shell_word(word, "words");
  return line;
}

// As the command line reads them, with its messages.
void parse(CLI::App& app, const Words& words) {
  try {
    // CLI11 takes the last word first.
    app.parse(Words(words.rbegin(), words.rend()));
    refuse_empty_entries(app, words);
  } catch (const CLI::ParseError& e) {
    const std::string problem = e.get_exit_code() == 0 ? "there is no help here"
                                                       : parse_problem(app, e);
    throw_config_error(ExitCode::bad_request, "", "", problem, parse_hint(app, e));
  }
}

PredictedPlan predicted(const Words& words, bool explain) {
  CLI::App app("", "predict");
  PredictQuestion question;
  question.explain = explain;
  add_plan_options(app, question.plan);
  app.add_option("-t,--tokens", question.tokens);
  parse(app, words);
  return predict_plan(question);
}

JsonValue fact(const std::string& name, const std::string& value) {
  return JsonValue::object().set("name", name).set("value", value);
}

JsonValue facts_of(const PredictedPlan& p) {
  const Target& t = p.request.target;
  JsonValue facts = JsonValue::array();
  const Table table = estimate_table(p.estimate, t.cluster);
  for (const auto& row : table.rows) facts.push_back(fact(row.at(0), row.at(1)));
  if (p.tokens) {
    const double a_step =
        static_cast<double>(t.workload.global_batch) * static_cast<double>(t.workload.seq_len);
    facts.push_back(fact("days", fmt::format("{:.1f} without failures and saves",
                                             *p.tokens / a_step * p.estimate.step.base() / 86400)));
  }
  return facts;
}

JsonValue words_json(const Words& words) {
  JsonValue list = JsonValue::array();
  for (const std::string& word : words) list.push_back(word);
  return list;
}

// The shape of a plan to take over; null where it cannot be typed.
JsonValue shape_json(const Plan& plan) {
  return can_be_typed(plan) ? words_json(typed_shape(plan)) : JsonValue();
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

JsonValue candidate_json(const Candidate& c) {
  return JsonValue::object()
      .set("summary", summary(c.plan))
      .set("step", format_seconds(c.estimate.step))
      .set("mfu", fmt::format("{}", fmt::join(mfu_fields(c.estimate), ", ")))
      .set("memory", format_bytes(c.estimate.peak_bytes()))
      .set("words", shape_json(c.plan));
}

std::string signed_bytes(std::int64_t bytes) {
  return (bytes < 0 ? "-" : "+") + format_bytes(bytes < 0 ? -bytes : bytes);
}

// Those that keep the training as it is first.
std::vector<const PricedChange*> changes_to_show(const Explanation& why) {
  std::vector<const PricedChange*> list;
  for (const PricedChange& c : why.changes) list.push_back(&c);
  std::ranges::stable_partition(list, [](const PricedChange* c) { return !c->change.arithmetic; });
  if (list.size() > kChangesShown) list.resize(kChangesShown);
  return list;
}

// Step time against memory.
JsonValue front_figure(const std::vector<Candidate>& plans) {
  Scatter chart{.x_title = "peak memory, GiB", .y_title = "step, s"};
  Scatter::Group group{.name = "best plans for their memory", .line = true};
  for (const Candidate& c : plans) {
    group.x.push_back(static_cast<double>(c.estimate.peak_bytes()) / kGiB);
    group.y.push_back(c.estimate.step.base());
    group.text.push_back(summary(c.plan));
  }
  chart.groups.push_back(std::move(group));
  return scatter(chart);
}

}  // namespace

JsonValue what_if_choices() {
  JsonValue models = JsonValue::array(), clusters = JsonValue::array(),
            options = JsonValue::array();
  for (const std::string& name : config_names(ConfigKind::model)) models.push_back(name);
  for (const std::string& name : config_names(ConfigKind::cluster)) clusters.push_back(name);
  ShapeOptions shape;
  for (const ShapeOption& o : shape_options(shape)) {
    const char* const kinds[] = {"number", "share", "words", "switch"};
    options.push_back(JsonValue::object()
                          .set("name", o.name)
                          .set("help", o.help)
                          .set("kind", kinds[o.value.index()])
                          .set("words", words_json(o.words)));
  }
  return JsonValue::object()
      .set("version", version_text())
      .set("models", std::move(models))
      .set("clusters", std::move(clusters))
      .set("options", std::move(options));
}

JsonValue predicted_what_if(const Words& words) {
  const PredictedPlan p = predicted(words, false);
  const Target& t = p.request.target;
  return JsonValue::object()
      .set("command", command_of("predict", words))
      .set("summary", summary(p.request.plan))
      .set("facts", facts_of(p))
      .set("fits", p.estimate.fits)
      .set("refusal", p.refusal)
      .set("assumed", assumed_text(t.assumed))
      .set("step_s", p.estimate.step.base())
      .set("figures",
           JsonValue::object()
               .set("memory", memory_figure(p.estimate, t.cluster))
               .set("breakdown", breakdown_figure({{"step", &p.estimate}})));
}

JsonValue detailed_what_if(const Words& words) {
  const PredictedPlan p = predicted(words, true);
  const Target& t = p.request.target;
  const TimelineFigure drawn =
      timeline_figure(predicted_trace(p.program, t.cluster, t.profile, 0));
  JsonValue changes = JsonValue::array();
  for (const PricedChange* c : changes_to_show(*p.why)) {
    changes.push_back(JsonValue::object()
                          .set("text", c->change.text)
                          .set("step", format_seconds(c->step))
                          .set("gain", percent(c->gain / p.estimate.step))
                          .set("more_memory", signed_bytes(c->more_bytes))
                          .set("fits", c->fits)
                          .set("arithmetic", c->change.arithmetic)
                          .set("words", shape_json(c->change.plan)));
  }
  return JsonValue::object()
      .set("bound", bound_sentences(p.estimate, t.cluster, *p.why))
      .set("timeline", drawn.figure)
      .set("stages", drawn.stages)
      .set("timeline_note", drawn.note)
      .set("changes", std::move(changes));
}

JsonValue searched_what_if(const Words& words, const SearchHooks& hooks) {
  CLI::App app("", "plan");
  FindPlanOptions o;
  add_target_options(app, o.target);
  app.add_option("-t,--tokens", o.tokens);
  app.add_flag("--pareto", o.objective.pareto);
  add_numerics_mode(app, o.search.numerics.mode, "");
  add_numerics_options(app, o.search.numerics.fields);
  add_search_pins(app, o.search);
  add_search_limits(app, o.search);
  parse(app, words);
  const FoundPlans found = search_plans(o, hooks);
  const SearchResult& result = found.answer.result;
  if (result.best.empty() && !result.optimal) throw_none_found(result);
  if (result.best.empty()) {
    throw_config_error(ExitCode::nothing_fits, "", "memory",
                       nothing_fits_text(found, {}, result.optimal, 80));
  }
  JsonValue best = JsonValue::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(5, result.best.size()); ++i) {
    best.push_back(candidate_json(result.best[i]));
  }
  JsonValue out = JsonValue::object();
  out.set("command", command_of("plan", words))
      .set("best", std::move(best))
      .set("proof",
           certificate(result, layout_gap_of(result, found.target, found.answer.search)));
  if (found.answer.front) out.set("front", front_figure(found.answer.front->plans));
  return out;
}

}  // namespace pleat::cli
