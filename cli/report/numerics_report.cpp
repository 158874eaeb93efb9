// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/numerics_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pleat::cli {
namespace {

constexpr std::size_t kColumns = 100;

// Lines of at most kColumns where words allow it; all but the first begin with `indent` blanks.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string lines;
  std::size_t column = 0;
  for (std::size_t begin = text.find_first_not_of(' '); begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::size_t width = end - begin;
    if (column == 0) {
      lines.append(begin, ' ');  // as the text begins
      column = begin;
    } else if (column + 1 + width > kColumns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      lines += ' ';
      ++column;
    }
    lines += text.substr(begin, width);
    column += width;
    begin = text.find_first_not_of(' ', end);
  }
  return lines + "\n";
}

std::string heading(const NumericsAnswer& a) {
  const std::string& mode = kNumericsModes[static_cast<std::size_t>(a.mode)];
  std::string text = "numerics: " + mode + "; ";
  if (a.possible > 0) {
    text += fmt::format("{} sets of number formats searched of {}; ", a.searched, a.possible);
  }
  if (a.changes.empty()) return text + "#1 has the formats that the runtime has unasked";
  text += "#1 has ";
  if (a.recipe) text += fmt::format("those of {} ({}): ", a.recipe->name, a.recipe->source);
  return text + listed_words(a.changes);
}

std::string gain_text(const RecipeGain& g) {
  return wrapped(
      fmt::format("numerics: megatron-default; as published in {} ({}) the plans above would "
                  "take {:.2f}x the time, others maybe less: --numerics recipe",
                  g.recipe.name, g.words, g.gain.ratio),
      2);
}

JsonValue effect_json(const NumericsEffect& e) {
  JsonValue fields = JsonValue::object();
  for (const NumericsValue& v : e.values) fields.set(std::string(path_of(v)), value_text(v));
  return JsonValue::object()
      .set("fields", std::move(fields))
      .set("words", e.words)
      .set("changes", e.changes)
      .set("risk", e.risk)
      .set("source", e.source);
}

JsonValue gain_json(const RecipeGain& g) {
  const Candidate& c = g.gain.candidate;
  return JsonValue::object()
      .set("recipe", g.recipe.name)
      .set("source", g.recipe.source)
      .set("words", g.words)
      .set("plan", summary(c.plan))
      .set("step_s", JsonValue::finite(c.estimate.step.base()))
      .set("ratio", JsonValue::finite(g.gain.ratio))
      .set("priced", g.gain.priced);
}

}  // namespace

std::string numerics_text(const NumericsAnswer& a) {
  if (a.mode == NumericsMode::megatron_default) return a.gain ? gain_text(*a.gain) : "";
  std::string text = wrapped(heading(a), 2);
  for (const NumericsEffect& e : a.changes) {
    const std::string risk = e.risk.empty() ? "Its risk is not known here." : e.risk;
    text += wrapped(fmt::format("  {}: {} {}", e.words, e.changes, risk), 4);
  }
  for (const OfferedRecipe& r : a.not_used) {
    text += wrapped(fmt::format("  not used: {}: {}", r.recipe.name, r.why_not), 4);
  }
  if (a.mode == NumericsMode::recipe && a.not_used.empty() && a.changes.empty()) {
    text +=
        wrapped(fmt::format("  no published formats for {} on {} are faster", a.family, a.gpu), 4);
  }
  for (const std::string& line : a.not_chosen) text += wrapped("  not chosen: " + line, 4);
  return text;
}

JsonValue numerics_json(const NumericsAnswer& a) {
  JsonValue changes = JsonValue::array(), not_used = JsonValue::array();
  for (const NumericsEffect& e : a.changes) changes.push_back(effect_json(e));
  for (const OfferedRecipe& r : a.not_used) {
    not_used.push_back(JsonValue::object().set("recipe", r.recipe.name).set("why", r.why_not));
  }
  return JsonValue::object()
      .set("mode", kNumericsModes[static_cast<std::size_t>(a.mode)])
      .set("recipe", a.recipe ? JsonValue(a.recipe->name) : JsonValue())
      .set("changes", std::move(changes))
      .set("not_used", std::move(not_used))
      .set("gain", a.gain ? gain_json(*a.gain) : JsonValue());
}

}  // namespace pleat::cli
