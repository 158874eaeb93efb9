// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/plan/numerics_answer.hpp"

#include <algorithm>

namespace pleat {
namespace {

// The runtime's formats that are closest to these.
const Numerics& nearest_plain(const NumericsQuestion& question, const Numerics& own) {
  return *std::ranges::min_element(
      question.plain, {}, [&](const Numerics& plain) { return differences(plain, own).size(); });
}

std::optional<RecipeGain> gain_of_recipes(const NumericsQuestion& question, const Target& target,
                                          const SearchConfig& config, const SearchResult& result) {
  std::vector<Numerics> others;
  std::vector<const NumericsRecipe*> recipes;
  for (const OfferedRecipe& r : question.recipes) {
    for (const Numerics& n : r.numerics) {
      if (std::ranges::find(question.plain, n) != question.plain.end()) continue;
      if (std::ranges::find(others, n) != others.end()) continue;
      others.push_back(n);
      recipes.push_back(&r.recipe);
    }
  }
  std::optional<NumericsGain> gain = numerics_gain(target, config, result, others);
  if (!gain) return std::nullopt;
  const Numerics& own = others[gain->choice];
  return RecipeGain{*recipes[gain->choice],
                    listed_words(effects_of(question.published, nearest_plain(question, own), own)),
                    std::move(*gain)};
}

}  // namespace

NumericsAnswer numerics_answer(const NumericsQuestion& question, const Target& target,
                               const SearchConfig& config, const SearchResult& result) {
  NumericsAnswer answer;
  answer.mode = question.mode;
  answer.gpu = target.cluster.gpu.name;
  answer.family = target.model.model_type;
  if (result.best.empty()) return answer;
  const Numerics own = numerics_of(result.best.front().plan);
  answer.changes = effects_of(question.published, nearest_plain(question, own), own);
  switch (question.mode) {
    case NumericsMode::megatron_default:
      answer.gain = gain_of_recipes(question, target, config, result);
      return answer;
    case NumericsMode::recipe:
    case NumericsMode::any:
      break;
  }
  for (const OfferedRecipe& r : question.recipes) {
    if (r.numerics.empty()) answer.not_used.push_back(r);
    const bool has_its = std::ranges::find(r.numerics, own) != r.numerics.end();
    if (has_its && !answer.recipe && !answer.changes.empty()) answer.recipe = r.recipe;
  }
  answer.not_chosen = question.not_chosen;
  answer.searched = result.numerics_searched;
  answer.possible = result.numerics_possible;
  return answer;
}

}  // namespace pleat
