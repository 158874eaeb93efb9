// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/sensitivity_report.hpp"

#include <fmt/format.h>

#include "console/wrap.hpp"

namespace pleat::cli {
namespace {

bool is_first(const ChangedAnswer& a) { return a.best && a.best->place == std::size_t{0}; }

std::string name_of(const Winner& w) {
  return w.place ? fmt::format("#{}", *w.place + 1) : "another plan";
}

// "#1", "#4 (1.2% better)", "none fits"
std::string best_words(const ChangedAnswer& a) {
  if (!a.best) return "none fits";
  if (is_first(a)) return "#1";
  if (!a.fits) return name_of(*a.best) + " (#1 does not fit)";
  return fmt::format("{} ({:.2g}% better)", name_of(*a.best),
                     100 * (1 - a.best->value / a.own_value));
}

std::string milliseconds_text(Seconds t) { return fmt::format("{:.2f}", t.base() * 1e3); }

void add_sentence(std::string& text, const char* change, const PlanSwing& s, const ChangedAnswer& a,
                  bool searched) {
  if (is_first(a)) return;
  text += fmt::format("\nWith 20% {} {} ", change, s.input);
  if (!a.best) {
    text += "none of them fits" +
            std::string(searched ? "." : "; --sensitivity search looks for others.");
    return;
  }
  text += fmt::format(
      "{} is best, {} ms against {}: {}", name_of(*a.best), milliseconds_text(a.best->step),
      a.fits ? milliseconds_text(a.own) + " ms" : "#1, which does not fit", summary(a.best->plan));
}

JsonValue answer_json(const ChangedAnswer& a) {
  JsonValue json = JsonValue::object(), best = JsonValue::object();
  if (a.best) {
    best.set("plan", summary(a.best->plan)).set("step_s", a.best->step.base());
    best.set("place", a.best->place ? JsonValue(static_cast<std::int64_t>(*a.best->place) + 1)
                                    : JsonValue());
  }
  json.set("step_s", a.own.base()).set("fits", a.fits);
  return json.set("best", a.best ? best : JsonValue()).set("proven", a.proven);
}

}  // namespace

Table sensitivity_table(const SensitivityAnswer& answer) {
  Table table{{{"input", Align::left},
               {"step ms -20%"},
               {"+20%"},
               {"best with -20%", Align::left},
               {"+20%", Align::left}},
              {}};
  for (const PlanSwing& s : answer.swings) {
    table.rows.push_back({s.input, milliseconds_text(s.less.own), milliseconds_text(s.more.own),
                          best_words(s.less), best_words(s.more)});
  }
  return table;
}

std::string sensitivity_sentences(const SensitivityAnswer& answer) {
  std::string text =
      fmt::format("Each input a fifth less and a fifth more; the {} priced again{}.",
                  answer.plans == 1 ? "best plan" : fmt::format("{} best plans", answer.plans),
                  answer.searched ? ", and a new search" : "");
  bool proven = true;
  const std::size_t before = text.size();
  for (const PlanSwing& s : answer.swings) {
    add_sentence(text, "less", s, s.less, answer.searched);
    add_sentence(text, "more", s, s.more, answer.searched);
    proven = proven && s.less.proven && s.more.proven;
  }
  if (text.size() == before) text += "\n#1 stays the best under every change.";
  if (!proven) text += "\nSome of the searches were cut off by their time limit.";
  return text;
}

std::string sensitivity_text(const SensitivityAnswer& answer, std::size_t columns) {
  return "\nwhat would change the answer\n" + to_text(sensitivity_table(answer), columns) +
         wrap_words(sensitivity_sentences(answer), columns, {"", "    "});
}

JsonValue sensitivity_json(const SensitivityAnswer& answer) {
  JsonValue inputs = JsonValue::array();
  for (const PlanSwing& s : answer.swings) {
    JsonValue json = JsonValue::object();
    json.set("input", s.input).set("effect", s.effect);
    inputs.push_back(json.set("less", answer_json(s.less)).set("more", answer_json(s.more)));
  }
  JsonValue json = JsonValue::object();
  json.set("plans", static_cast<std::int64_t>(answer.plans)).set("searched", answer.searched);
  return json.set("inputs", inputs);
}

}  // namespace pleat::cli
