// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/recipes_report.hpp"

#include <fmt/format.h>

#include "console/tables.hpp"
#include "planner/report/explain.hpp"

namespace pleat::cli {
namespace {

std::string place_words(const Recipe& r, const SearchResult& result) {
  if (!r.candidate.estimate.fits) return "does not fit in memory";
  if (r.place) return fmt::format("would be number {}", *r.place);
  return fmt::format("slower than the best {}", result.best.size());
}

}  // namespace

std::string recipes_text(const std::vector<Recipe>& recipes, const SearchResult& result) {
  if (recipes.empty()) return {};
  std::string text = "\nbeside the winner:\n";
  for (const Recipe& r : recipes) {
    const StepEstimate& e = r.candidate.estimate;
    text += fmt::format("  {} ({})\n    {}\n    step {}, {:.1f} tokens/s/GPU, MFU {:.1f}%, peak {}: {}\n",
                        r.name, r.source, summary(r.candidate.plan), format_seconds(e.step),
                        e.tokens_per_second_per_gpu, 100 * e.mfu, format_bytes(e.peak_bytes()),
                        place_words(r, result));
    if (!r.numerics.empty()) text += fmt::format("    other numerics: {}\n", r.numerics);
    if (!result.best.empty()) {
      text += fmt::format("    {}\n", explain_difference(result.best.front(), r.candidate));
    }
  }
  return text;
}

JsonValue recipes_json(const std::vector<Recipe>& recipes) {
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
    list.push_back(json);
  }
  return list;
}

}  // namespace pleat::cli
