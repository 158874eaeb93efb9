// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cli/report/validation/validation_sections.hpp"

namespace pleat::cli {
namespace {

std::string place_text(const RecipePlace& p) {
  if (!p.best) return "-";
  if (p.best_step > p.step) return "beats the search";
  return p.place > kPlaces ? fmt::format("> {}", kPlaces) : std::to_string(p.place);
}

std::string gain(Seconds best, Seconds recipe) {
  return fmt::format("{:.1f}%", 100 * (1 - best / recipe));
}

std::string seconds(Seconds s) { return fmt::format("{:.4g}", s.base()); }

}  // namespace

Section recipe_section(const std::vector<RecipePlace>& places) {
  const auto count = [&](auto test) { return std::ranges::count_if(places, test); };
  const auto slower = count([](const RecipePlace& p) { return p.best && p.best_step > p.step; });
  const auto ten = count([](const RecipePlace& p) { return p.best && p.place <= 10; });
  const auto nothing = count([](const RecipePlace& p) { return !p.best; });
  Section section{
      "Recipes against the search",
      fmt::format(
          "Same model, machine, batch and number formats as {} rows of tier A; the search keeps no "
          "memory free. Place: 1 + plans that differ in mesh, microbatch, recompute or offload and "
          "are predicted faster; gain: of the best; same techniques: of the best with the recipe's "
          "sharding, dispatcher, graphs, overlap and offload. In {} rows the best plan is "
          "predicted slower than the recipe, in {} "
          "nothing of the search's space fits, in {} the recipe is among the first ten.",
          places.size(), slower, nothing, ten),
      {{{"row", Align::left},
        {"recipe s"},
        {"best s"},
        {"place"},
        {"gain"},
        {"same techniques"},
        {"recipe -> best", Align::left}},
       {}}};
  for (const RecipePlace& p : places) {
    section.table.rows.push_back(
        {p.id + (p.fits ? "" : " (predicted not to fit)"), seconds(p.step),
         p.best ? seconds(p.best_step) : "-", place_text(p),
         p.best ? gain(p.best_step, p.step) : "-",
         p.same_techniques ? gain(*p.same_techniques, p.step) : "-", p.differences});
  }
  return section;
}

}  // namespace pleat::cli
