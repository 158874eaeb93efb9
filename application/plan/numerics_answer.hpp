// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which number formats a search may choose from, and what is said of those of its best plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/target.hpp"
#include "core/plan/published_numerics.hpp"
#include "planner/search/numerics_prices.hpp"

namespace pleat {

// Each may choose what those before it may, so none gives a slower plan than one before it.
enum class NumericsMode { megatron_default, recipe, any };
inline const std::vector<std::string> kNumericsModes{"megatron-default", "recipe", "any"};

// A recipe for the target's GPU and family of models.
struct OfferedRecipe {
  NumericsRecipe recipe;
  std::vector<Numerics> numerics;  // with what was given; empty: not used
  std::string why_not;             // then
};

struct NumericsQuestion {
  NumericsMode mode = NumericsMode::megatron_default;
  std::vector<Numerics> plain;  // what the runtime does unless told otherwise
  std::vector<OfferedRecipe> recipes;
  PublishedNumerics published;
  std::vector<Numerics> numerics;  // SearchConfig's
  std::vector<NumericsValue> free;
  std::vector<std::size_t> told;
  std::vector<std::string> not_chosen;  // with `any`: what is left as it is, and why
};

// What a recipe would gain where none was asked for: the best plans with its formats.
struct RecipeGain {
  NumericsRecipe recipe;
  std::string words;  // "bf16 gradients, fp8 attention"
  NumericsGain gain;
};

struct NumericsAnswer {
  NumericsMode mode = NumericsMode::megatron_default;
  std::string gpu, family;
  std::vector<NumericsEffect> changes;   // of the best plan's formats, against the runtime's
  std::optional<NumericsRecipe> recipe;  // whose formats the best plan has
  std::vector<OfferedRecipe> not_used;
  std::vector<std::string> not_chosen;
  std::int64_t searched = 0, possible = 0;  // sets of formats, with `any`
  std::optional<RecipeGain> gain;           // with `megatron_default`
};

// Nothing but the mode where nothing was found.
[[nodiscard]] NumericsAnswer numerics_answer(const NumericsQuestion&, const Target&,
                                             const SearchConfig&, const SearchResult&);

}  // namespace pleat
