// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/given_recipes.hpp"

#include "application/request/request.hpp"
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

}  // namespace

std::vector<RecipeDraft> given_recipes(const Target& t, const SearchConfig& config,
                                       const std::vector<std::string>& given) {
  std::vector<RecipeDraft> drafts;
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

}  // namespace pleat
