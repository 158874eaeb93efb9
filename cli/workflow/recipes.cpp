// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/recipes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/report/output.hpp"
#include "cli/report/tables.hpp"
#include "cli/workflow/search_numerics.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "planner/explain.hpp"
#include "planner/mesh_space.hpp"

namespace pleat::cli {
namespace {

namespace fs = std::filesystem;

struct Shipped {
  std::string name;
  PlanDocument document;
};

std::vector<Shipped> shipped_for(const Target& t) {
  std::vector<fs::path> files;
  std::error_code none;  // no such folder: nothing ships
  for (const auto& entry : fs::directory_iterator(fs::path(config_directory()) / "plans", none)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Shipped> found;
  for (const fs::path& file : files) {
    try {
      PlanDocument d = read_plan_document(read_text_file(file.string()), file.string());
      if (d.model_name == t.model.name && d.cluster == t.cluster.name && d.gpus == t.gpus) {
        found.push_back({file.stem().string(), std::move(d)});
      }
    } catch (const ConfigError& e) {
      const Diagnostic& first = e.diagnostics().front();
      note(fmt::format("note: the shipped plan {} is left out: {}", file.stem().string(),
                       first.message));
    }
  }
  return found;
}

Recipe price_recipe(const Target& t, std::string name, std::string source, const Plan& plan,
                    const SearchConfig& config, const SearchResult& result) {
  const Program program = compile(t.model, t.workload, plan, t.runtime);
  Recipe recipe{std::move(name), std::move(source), {plan, estimate(program, t.cluster, t.profile)},
                other_numerics(plan, config), {}};
  recipe.place = place_of(recipe.candidate.estimate, result);
  return recipe;
}

// Layers that do not divide over the virtual stages are laid out with balanced work.
void give_layout(const Target& t, ShapeOptions& shape) {
  const int pp = shape.of<&Plan::attention, &AttentionMapping::pp>().value_or(1);
  const int vpp = shape.of<&Plan::vpp>().value_or(1);
  if (pp < 1 || vpp < 1 || pp > t.gpus || vpp > t.model.layers) return;  // is refused with a reason
  const std::vector<std::string> layouts =
      layout_choices(t.model, t.workload.seq_len, pp, vpp);
  if (!layouts.empty() && !layouts.front().empty()) shape.of<&Plan::layout>() = layouts.back();
}

void with_numerics(const Numerics& numerics, const Target& t, Plan& plan) {
  Plan changed = plan;
  numerics.put_into(changed);
  if (violations({t.model, t.workload, changed, t.gpus}).empty()) plan = changed;
}

std::string place_words(const Recipe& r, const SearchResult& result) {
  if (!r.candidate.estimate.fits) return "does not fit in memory";
  if (r.place) return fmt::format("would be number {}", *r.place);
  return fmt::format("slower than the best {}", result.best.size());
}

}  // namespace

std::vector<RecipeDraft> read_recipes(const Target& t, const SearchConfig& config,
                                      const std::vector<std::string>& given) {
  std::vector<RecipeDraft> drafts;
  for (const Shipped& s : shipped_for(t)) {
    const std::vector<Violation> broken = violations({t.model, t.workload, s.document.plan, t.gpus});
    if (broken.empty()) {
      drafts.push_back({s.name, s.document.provenance, s.document.plan});
    } else {
      note(fmt::format("note: the shipped plan {} does not go with this workload: {}", s.name,
                       broken.front().message));
    }
  }
  for (const std::string& text : given) {
    ShapeOptions shape = parse_shape(text, "--compare");
    auto& precision = shape.of<&Plan::precision>();
    const bool names_precision = precision.has_value();
    if (!names_precision) precision = name_of(config.numerics.front().precision);
    if (!shape.of<&Plan::layout>()) give_layout(t, shape);
    std::vector<std::string> assumed;
    drafts.push_back(
        {text, "given", resolve_shape(shape, t, "--compare", assumed), true, names_precision});
  }
  return drafts;
}

std::vector<Recipe> price_recipes(const Target& t, const SearchConfig& config,
                                  const std::vector<RecipeDraft>& drafts,
                                  const SearchResult& result) {
  std::vector<Recipe> recipes;
  for (const RecipeDraft& d : drafts) {
    Plan plan = d.plan;
    if (d.given && !d.names_precision && !result.best.empty()) {
      with_numerics(numerics_of(result.best.front().plan), t, plan);
    }
    recipes.push_back(price_recipe(t, d.name, d.source, plan, config, result));
  }
  return recipes;
}

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
