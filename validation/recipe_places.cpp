// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/recipe_places.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "planner/search/search.hpp"
#include "validation/comparison.hpp"

namespace pleat {
namespace {

SearchConfig config_for(const RunRequest& r, const Plan& recipe, int threads) {
  SearchConfig c;
  c.gpus = r.gpus;
  c.runtime = r.profile->runtime;
  c.numerics = {numerics_of(recipe)};
  c.memory_margin = 0;
  if (splits_backward(recipe.schedule)) {  // offered beside the runtime's own
    c.pin<"schedule">() = {PipelineSchedule::one_f_one_b, recipe.schedule};
  }
  c.threads = threads;
  return c;
}

// The techniques of the recipe.
void pin_techniques(const Plan& recipe, SearchConfig& c) {
  pin_choices_of(recipe, c.pins);
  if (recipe.cp_a2a > 0) c.pin<"cp-a2a">() = recipe.cp_a2a;
  c.offload = !recipe.offload.empty();
}

SearchResult run_search(const RunRequest& r, const SearchConfig& c) {
  try {
    return search({r.model, *r.cluster, r.workload, *r.profile}, c);
  } catch (const ConfigError&) {  // no valid plan at all
    return {};
  }
}

RecipePlace place_recipe(const ComparedRun& row, const RunRequest& r, int threads) {
  RecipePlace p;
  p.id = row.run.id;
  p.recipe = row.prediction->plan;
  p.step = row.prediction->estimate.step;
  p.fits = row.prediction->estimate.fits;
  SearchConfig config = config_for(r, p.recipe, threads);
  config.top = kPlaces + 1;
  config.not_above = p.step;
  SearchResult found = run_search(r, config);
  const auto faster = std::ranges::count_if(
      found.best, [&](const Candidate& c) { return c.estimate.step < p.step; });
  p.place = static_cast<int>(std::min<std::ptrdiff_t>(faster, kPlaces)) + 1;
  if (found.best.empty()) {  // all are slower than the recipe
    config.top = 1;
    config.not_above = SearchConfig{}.not_above;
    found = run_search(r, config);
  }
  if (found.best.empty()) return p;
  p.best = found.best.front().plan;
  p.best_step = found.best.front().estimate.step;
  p.differences = plan_differences(p.recipe, *p.best);
  config.top = 1;
  config.not_above = SearchConfig{}.not_above;
  pin_techniques(p.recipe, config);
  found = run_search(r, config);
  if (!found.best.empty()) p.same_techniques = found.best.front().estimate.step;
  return p;
}

std::string job_and_plan(const ComparedRun& row) {
  const MeasuredRun& r = row.run;
  return fmt::format("{} {} {} {} {} {}", r.model_name, r.cluster, r.gpus, r.seq_len,
                     r.global_batch, summary(row.prediction->plan));
}

template <class Set>
std::string names(const Set& set, bool full = false) {
  std::vector<std::string> list;
  if (full) list.emplace_back("full");
  for (const auto one : set) list.push_back(name_of(one));
  return list.empty() ? "none" : fmt::format("{}", fmt::join(list, "+"));
}

}  // namespace

std::string plan_differences(const Plan& a, const Plan& b) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* name, const auto& from, const auto& to) {
    if (from != to) parts.push_back(fmt::format("{} {} -> {}", name, from, to));
  };
  const auto on = [](bool flag) { return flag ? "on" : "off"; };
  compare("TP", a.attention.tp, b.attention.tp);
  compare("CP", a.attention.cp, b.attention.cp);
  compare("PP", a.attention.pp, b.attention.pp);
  compare("VPP", a.vpp, b.vpp);
  compare("EP", a.expert.ep, b.expert.ep);
  compare("ETP", a.expert.etp, b.expert.etp);
  compare("microbatch", a.micro_batch, b.micro_batch);
  compare("schedule", std::string(name_of(a.schedule)), std::string(name_of(b.schedule)));
  compare("sharding", std::string(name_of(a.sharding)), std::string(name_of(b.sharding)));
  if (a.expert.ep > 1 && b.expert.ep > 1) {
    compare("dispatcher", std::string(name_of(a.dispatcher)), std::string(name_of(b.dispatcher)));
  }
  compare("recompute", names(a.recompute, a.recompute_full), names(b.recompute, b.recompute_full));
  compare("offload", names(a.offload), names(b.offload));
  compare("graphs", std::string(name_of(a.cuda_graph)), std::string(name_of(b.cuda_graph)));
  compare("expert overlap", on(a.overlap.expert_parallel), on(b.overlap.expert_parallel));
  compare("TP overlap", on(a.overlap.tensor_parallel), on(b.overlap.tensor_parallel));
  compare("shared-expert overlap", on(a.overlap.shared_expert), on(b.overlap.shared_expert));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<RecipePlace> place_recipes(const std::vector<ComparedRun>& rows, RunCatalog& catalog,
                                       int threads) {
  std::map<std::string, std::size_t> last;  // row of each job and plan
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].prediction) last[job_and_plan(rows[i])] = i;
  }
  std::vector<RecipePlace> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].prediction || last[job_and_plan(rows[i])] != i) continue;
    progress(fmt::format("searching beside recipe {} of {}", places.size() + 1, last.size()));
    const PreparedRun prepared = catalog.prepare(rows[i].run);
    places.push_back(place_recipe(rows[i], *prepared.request, threads));
  }
  progress("");
  return places;
}

}  // namespace pleat
