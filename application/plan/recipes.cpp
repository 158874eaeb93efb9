// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/plan/recipes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/numerics_rows.hpp"
#include "planner/report/explain.hpp"

namespace pleat {
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

std::string told_value(bool on) { return on ? "on" : "off"; }
std::string told_value(DType type) { return std::string(name_of(type)); }
template <class Enum>
requires std::is_enum_v<Enum> std::string told_value(Enum value) { return name_of(value); }

// "fp8-attention on (searched: off)", precision first, then switches, then the optimizer's.
std::vector<std::string> numerics_differences(const Numerics& own, const Numerics& searched) {
  std::vector<std::string> first, switches, last;
  const auto compare = [&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    auto a = field.in_numerics(own), b = field.in_numerics(searched);
    if constexpr (requires { a.has_value(); }) {  // as they are kept
      a = a.value_or(own.optimizer.main_grads);
      b = b.value_or(searched.optimizer.main_grads);
    }
    if (a == b) return;
    std::string name(field.typed.flag);
    if (name.ends_with("-dtype")) name.resize(name.size() - 6);
    const auto text = [](const auto& value) {
      if constexpr (requires { value.has_value(); }) return told_value(*value);
      else return told_value(value);
    };
    auto& list = kIsSwitch<decltype(field)> ? switches : field.path == "precision" ? first : last;
    list.push_back(fmt::format("{} {} (searched: {})", name, text(a), text(b)));
  };
  for_each_numerics_field([&](auto i) {
    if constexpr (kIsSwitch<decltype(kPlanField<i>)>) compare(i);
  });
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.chosen_by == ChosenBy::numerics && !kIsSwitch<decltype(field)>) compare(i);
  });
  for (const auto* more : {&switches, &last}) first.insert(first.end(), more->begin(), more->end());
  return first;
}

// What of a plan's numerics is not what the search chose from, against the choice that is closest:
// "fp8-attention on (searched: off), exp-avg bf16 (searched: fp32)"; empty: nothing.
std::string other_numerics(const Plan& plan, const SearchConfig& config) {
  std::vector<std::string> fewest;
  for (std::size_t i = 0; i < config.numerics.size(); ++i) {
    auto parts = numerics_differences(numerics_of(plan), config.numerics[i]);
    if (i == 0 || parts.size() < fewest.size()) fewest = std::move(parts);
  }
  return fmt::format("{}", fmt::join(fewest, ", "));
}

Recipe price_recipe(const Target& t, std::string name, std::string source, const Plan& plan,
                    const SearchConfig& config, const SearchResult& result) {
  const Program program = compile(t.model, t.workload, plan, t.runtime);
  Recipe recipe{std::move(name), std::move(source), {plan, estimate(program, t.cluster, t.profile)},
                other_numerics(plan, config), {}};
  recipe.place = place_of(recipe.candidate.estimate, result);
  return recipe;
}

void with_numerics(const Numerics& numerics, const Target& t, Plan& plan) {
  Plan changed = plan;
  numerics.put_into(changed);
  if (violations({t.model, t.workload, changed, t.gpus}).empty()) plan = changed;
}

}  // namespace

std::vector<RecipeDraft> shipped_recipes(const Target& t) {
  std::vector<RecipeDraft> drafts;
  for (const Shipped& s : shipped_for(t)) {
    const std::vector<Violation> broken =
        violations({t.model, t.workload, s.document.plan, t.gpus});
    if (broken.empty()) {
      drafts.push_back({s.name, s.document.provenance, s.document.plan});
    } else {
      note(fmt::format("note: the shipped plan {} does not go with this workload: {}", s.name,
                       broken.front().message));
    }
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

}  // namespace pleat
