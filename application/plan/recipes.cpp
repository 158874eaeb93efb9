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

std::vector<std::string> numerics_differences(const Numerics& own, const Numerics& searched) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* name, const auto& a, const auto& b, const auto& words) {
    if (a != b) parts.push_back(fmt::format("{} {} (searched: {})", name, words(a), words(b)));
  };
  const auto on = [](bool b) { return std::string(b ? "on" : "off"); };
  const auto type = [](DType t) { return std::string(name_of(t)); };
  compare("precision", own.precision, searched.precision, [](Precision p) { return name_of(p); });
  compare("fp8-attention", own.fp8_attention, searched.fp8_attention, on);
  compare("fp8-head", own.fp8_head, searched.fp8_head, on);
  compare("fp8-dispatch", own.fp8_dispatch, searched.fp8_dispatch, on);
  compare("fp8-combine", own.fp8_combine, searched.fp8_combine, on);
  compare("fp8-params", own.fp8_params, searched.fp8_params, on);
  const OptimizerPlan &a = own.optimizer, &b = searched.optimizer;
  compare("optimizer", a.kind, b.kind, [](OptimizerKind k) { return name_of(k); });
  compare("main-grads", a.main_grads, b.main_grads, type);
  compare("main-params", a.main_params, b.main_params, type);
  compare("exp-avg", a.exp_avg, b.exp_avg, type);
  compare("exp-avg-sq", a.exp_avg_sq, b.exp_avg_sq, type);
  compare("grad-reduce", a.grad_reduce.value_or(a.main_grads),
          b.grad_reduce.value_or(b.main_grads), type);
  return parts;
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
  changed.optimizer.state_offload = plan.optimizer.state_offload;
  changed.optimizer.cpu_offload = plan.optimizer.cpu_offload;
  changed.optimizer.cpu_offload_overlapped = plan.optimizer.cpu_offload_overlapped;
  if (violations({t.model, t.workload, changed, t.gpus}).empty()) plan = changed;
}

}  // namespace

std::vector<RecipeDraft> shipped_recipes(const Target& t) {
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
