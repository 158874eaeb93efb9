// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/recipes_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "cli/report/cost_words.hpp"
#include "cli/report/step_report.hpp"
#include "console/tables.hpp"
#include "console/wrap.hpp"
#include "planner/report/explain.hpp"

namespace pleat::cli {
namespace {

std::string place_words(const Recipe& r, const SearchResult& result) {
  if (!r.candidate.estimate.fits) return "does not fit in memory";
  if (r.place) {
    const bool missing = !all_certain(result) && *r.place > certain_listed(result);
    return fmt::format("would be number {}{}", *r.place, missing ? " or later" : "");
  }
  return fmt::format("slower than the best {}", result.best.size());
}

// Of the winner's step over the recipe's, 0.1: 10% less.
double gain_over(const Recipe& r, const SearchResult& result) {
  return 1 - result.best.front().estimate.step.base() / r.candidate.estimate.step.base();
}

}  // namespace

std::string recipes_text(const std::vector<Recipe>& recipes, const SearchResult& result,
                         std::size_t columns) {
  if (recipes.empty()) return {};
  std::string text = "\nbeside the winner\n";
  for (const Recipe& r : recipes) {
    const StepEstimate& e = r.candidate.estimate;
    std::vector<Fact> facts;
    facts.push_back({"place",
                     {place_words(r, result), "step " + format_seconds(e.step),
                      fmt::format("{:.1f} tokens/s/GPU", e.tokens_per_second_per_gpu),
                      "MFU " + fmt::format("{}", fmt::join(mfu_fields(e), ", ")),
                      "peak " + format_bytes(e.peak_bytes())}});
    if (!result.best.empty()) {
      const double gain = gain_over(r, result);  // of a plan outside of the space it may be a loss
      if (e.fits) {
        facts.push_back({"gain", {fmt::format("#1 takes {:.1f}% {}", 100 * std::abs(gain),
                                              gain < 0 ? "more" : "less")}});
      }
      facts.push_back(
          {"against #1", {explain_difference(result.best.front(), r.candidate, short_words_for)}});
    }
    facts.push_back({"plan", {summary(r.candidate.plan)}});
    if (!r.numerics.empty()) facts.push_back({"numerics", {r.numerics}});
    facts.push_back({"source", {r.source}});
    text += "  " + r.name + "\n" + facts_text(facts, columns, "    ");
  }
  return text;
}

JsonValue recipes_json(const std::vector<Recipe>& recipes, const SearchResult& result) {
  JsonValue list = JsonValue::array();
  for (const Recipe& r : recipes) {
    const StepEstimate& e = r.candidate.estimate;
    JsonValue json = JsonValue::object();
    json.set("name", r.name)
        .set("source", r.source)
        .set("plan", summary(r.candidate.plan))
        .set("step_s", e.step.base())
        .set("peak_bytes", e.peak_bytes())
        .set("fits", e.fits)
        .set("other_numerics", r.numerics)
        .set("place", r.place ? JsonValue(*r.place) : JsonValue());
    if (!result.best.empty()) json.set("gain", gain_over(r, result));
    list.push_back(json);
  }
  return list;
}

}  // namespace pleat::cli
