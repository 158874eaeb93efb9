// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/given_recipes.hpp"

#include <fmt/format.h>

#include "application/request/request.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/plan_document.hpp"
#include "planner/space/mesh_space.hpp"

namespace pleat {
namespace {

// Layers that do not divide over the virtual stages are laid out with balanced work.
void give_layout(const Target& t, ShapeOptions& shape) {
  const int pp = shape.of<&Plan::attention, &AttentionMapping::pp>().value_or(1);
  const int vpp = shape.of<&Plan::vpp>().value_or(1);
  if (pp < 1 || vpp < 1 || pp > t.gpus || vpp > t.model.layers) return;  // is refused with a reason
  const std::vector<std::string> layouts =
      layout_choices(t.model, t.workload.seq_len, pp, vpp);
  if (!layouts.empty() && !layouts.front().empty()) shape.of<&Plan::layout>() = layouts.back();
}

// The plan of a plan file, on this target's model and batch.
Plan plan_of_file(const Target& t, const std::string& file) {
  const PlanDocument d = read_plan_document(read_text_file(file), file);
  if (d.gpus != t.gpus) {
    throw_config_error(ExitCode::bad_request, "--compare", "",
                       fmt::format("{} is a plan for {} GPUs, the search is for {}", file, d.gpus,
                                   t.gpus),
                       fmt::format("--gpus {}", d.gpus));
  }
  require_valid({t.model, t.workload, d.plan, t.gpus}, file);
  return d.plan;
}

}  // namespace

std::vector<RecipeDraft> given_recipes(const Target& t, const SearchConfig& config,
                                       const std::vector<std::string>& given) {
  std::vector<RecipeDraft> drafts;
  for (const std::string& text : given) {
    if (text.ends_with(".json")) {
      drafts.push_back({text, "given", plan_of_file(t, text), true, true});
      continue;
    }
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

}  // namespace pleat
