// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published recipes against the search: same model, cluster, GPUs, batch and number formats. They
// were tuned by hand, so one far down says that the model misses something or that they did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/predict_run.hpp"

namespace pleat {

struct ComparedRun;

inline constexpr int kPlaces = 20;  // further down is not counted

struct RecipePlace {
  std::string id;
  Plan recipe;
  Seconds step;                // predicted for the recipe
  bool fits = false;           // the recipe, as predicted
  std::optional<Plan> best;    // of the search; nothing: no plan of its space fits
  Seconds best_step;
  int place = 0;  // 1 + really different plans that are faster; kPlaces + 1: further down
  std::string differences;     // recipe -> best, in words
  // The best with the recipe's sharding, dispatcher, graphs, CP kind and overlap, and offload only
  // if it offloads: what mesh, microbatch and recompute alone are worth. Nothing: none fits.
  std::optional<Seconds> same_techniques;
};

// For every row that was predicted; of rows with the same job and plan (runs of another release)
// the last. The search keeps no memory free, as the recipe may not.
[[nodiscard]] std::vector<RecipePlace> place_recipes(const std::vector<ComparedRun>&, RunCatalog&,
                                                     int threads);

// "TP 2 -> 1, recompute moe_act -> none"; empty: they do not differ in what a search chooses.
[[nodiscard]] std::string plan_differences(const Plan& from, const Plan& to);

}  // namespace pleat
