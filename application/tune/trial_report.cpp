// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_report.hpp"

#include <fmt/format.h>

#include "console/tables.hpp"
#include "console/terminal.hpp"
#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {
namespace {

std::string plan_summary(const Trial& t) {
  return summary(read_plan_document(t.plan, fmt::format("trial {}", t.number)).plan);
}

std::string step_text(double seconds) {
  return seconds > 0 ? format_seconds(Seconds(seconds)) : "-";
}

std::string off_text(double predicted, double measured) {
  return measured > 0 ? format_percent(predicted / measured - 1) : "-";
}

std::string outcome_text(const Trial& t) {
  std::string text = t.state == TrialState::over ? name_of(t.outcome) : name_of(t.state);
  return t.reason.empty() ? text : text + ": " + t.reason;
}

JsonValue trial_json(const Trial& t) {
  JsonValue json = JsonValue::object();
  json.set("number", t.number)
      .set("plan", plan_summary(t))
      .set("why", t.why)
      .set("state", name_of(t.state))
      .set("outcome", name_of(t.outcome))
      .set("reason", t.reason)
      .set("job", t.job)
      .set("predicted_step_s", t.predicted)
      .set("expected_step_s", t.expected)
      .set("predicted_peak_bytes", t.predicted_bytes)
      .set("steps", t.steps);
  if (t.is_measured()) json.set("measured_step_s", t.seconds);
  if (t.bytes > 0) json.set("measured_peak_bytes", t.bytes);
  if (t.started > 0 && t.ended > 0) json.set("ran_s", t.ended - t.started);
  json.set("plan_document", parse_json(t.plan, "trial"));
  return json;
}

JsonValue list_json(const std::vector<Trial>& trials) {
  JsonValue list = JsonValue::array();
  for (const Trial& t : trials) list.push_back(trial_json(t));
  return list;
}

}  // namespace

std::string result_line(const Trial& t) {
  if (t.outcome == TrialOutcome::measured) {
    return fmt::format("trial {}: {} a step, expected {} ({})\n", t.number, step_text(t.seconds),
                       step_text(t.expected), off_text(t.expected, t.seconds));
  }
  return fmt::format("trial {}: {}\n", t.number, outcome_text(t));
}

std::string trials_text(const TrialsReport& r) {
  Table table{{{"trial"},
               {"predicted"},
               {"expected"},
               {"measured"},
               {"off"},
               {"memory, predicted"},
               {"measured"},
               {"plan and result", Align::left}},
              {},
              1};
  for (const Trial& t : r.trials) {
    const double seconds = t.is_measured() ? t.seconds : 0;
    table.rows.push_back(
        {fmt::format("{}{}", t.number == r.winner ? "* " : "", t.number), step_text(t.predicted),
         step_text(t.expected), step_text(seconds), off_text(t.expected, seconds),
         format_bytes(t.predicted_bytes), t.bytes > 0 ? format_bytes(t.bytes) : "-",
         plan_summary(t) + (t.outcome == TrialOutcome::measured ? "" : "; " + outcome_text(t))});
  }
  std::string text =
      "\n" + to_text(table, terminal().columns) +
      "predicted before any trial, expected from those before it\n\nended: " + r.why_over +
      "; trials are kept in " + r.trials_file + "\n";
  if (r.winner == 0) return text;
  return text + fmt::format("winner: trial {}, written to {}\n  {}\nlearn from the trials:\n  {}\n",
                            r.winner, r.winner_file, r.command, r.learn_command);
}

JsonValue trials_json(const TrialsReport& r) {
  JsonValue json = JsonValue::object();
  json.set("trials", list_json(r.trials))
      .set("ended", r.why_over)
      .set("trials_file", r.trials_file);
  if (r.winner == 0) return json;
  json.set("winner", r.winner)
      .set("winner_file", r.winner_file)
      .set("command", r.command)
      .set("learn_command", r.learn_command);
  return json;
}

std::string planned_text(const std::vector<Trial>& known, const std::vector<Trial>& would) {
  std::string text;
  for (const Trial& t : known)
    text += fmt::format("trial {}: {}\n  {}\n", t.number, plan_summary(t), outcome_text(t));
  for (const Trial& t : would) {
    text +=
        fmt::format("would run trial {}: {}\n  predicted {}, {}; {}\n", t.number, plan_summary(t),
                    step_text(t.predicted), format_bytes(t.predicted_bytes), t.why);
  }
  if (would.size() > 1) text += "if each takes what is expected; results change what comes next\n";
  if (would.empty()) text += "no further trial would run\n";
  return text;
}

JsonValue planned_json(const std::vector<Trial>& known, const std::vector<Trial>& would) {
  JsonValue json = JsonValue::object();
  json.set("dry_run", true).set("trials", list_json(known)).set("would_run", list_json(would));
  return json;
}

}  // namespace pleat
