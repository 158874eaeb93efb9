// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/memory_sets.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/plan/plan_words.hpp"
#include "planner/bounds/plan_bounds.hpp"

namespace pleat {
namespace {

constexpr int kMostUnit = 4;  // of recompute; larger ones keep little less

std::vector<RecomputeChoice> every_recompute(const ModelSpec& model, bool allowed) {
  std::vector<RecomputeChoice> list = recompute_choices(model, allowed);
  if (!allowed) return list;
  RecomputeChoice whole{.modules = {}, .full = true};
  for (whole.unit = 2; whole.unit <= kMostUnit; ++whole.unit) list.push_back(whole);
  whole.unit = 1;
  for (whole.layers = 1; whole.layers < model.layers; ++whole.layers) list.push_back(whole);
  return list;
}

// Sorted by recompute: all sets of modules to offload follow one another for each.
std::vector<MemoryChoice> every_choice(const ModelSpec& model, const SearchConfig& config,
                                       StatePlace state) {
  const std::vector<std::set<Offload>> offloads =
      config.offload ? offload_sets(model) : std::vector<std::set<Offload>>{{}};
  std::vector<MemoryChoice> list;
  for (const RecomputeChoice& recompute : every_recompute(model, config.recompute)) {
    for (const std::set<Offload>& offload : offloads) {
      list.push_back({recompute, offload, 0, state});
    }
  }
  for (int layers = 1; config.offload && layers < model.layers; ++layers) {
    list.push_back({{}, {}, layers, state});
  }
  return list;
}

StatePlace place_of(const Plan& plan) {
  if (plan.optimizer.cpu_offload > 0) return StatePlace::host_stepped;
  return plan.optimizer.state_offload > 0 ? StatePlace::host : StatePlace::device;
}

// Of the optimizer's state: stepped on the CPU, and coming back to the GPU for the step.
std::pair<double, double> shares_of(const Plan& plan) {
  return {plan.optimizer.cpu_offload, plan.optimizer.state_offload};
}

}  // namespace

bool gives_up_memory(const Plan& plan) {
  return !plan.recompute.empty() || plan.recompute_full || !plan.offload.empty() ||
         plan.offload_layers > 0 || !plan.stages.empty() || place_of(plan) != StatePlace::device;
}

double host_share(const Plan& plan) {
  return plan.optimizer.cpu_offload + plan.optimizer.state_offload;
}

bool same_state_place(const Plan& a, const Plan& b) { return place_of(a) == place_of(b); }

bool same_memory_choice(const Plan& a, const Plan& b) {
  return recompute_of(a) == recompute_of(b) && a.offload == b.offload &&
         a.offload_layers == b.offload_layers && a.stages == b.stages &&
         place_of(a) == place_of(b);
}

MemorySets::Choices::Choices(std::vector<MemoryChoice> all) : list(std::move(all)), ways(list) {}

const MemorySets::Choices& MemorySets::choices_beside(const Plan& plan) {
  // Bounds know one place in host memory: that of the larger share.
  const auto [cpu, back] = shares_of(plan);
  const StatePlace state = back > cpu ? StatePlace::host : place_of(plan);
  std::unique_ptr<Choices>& known = by_place_[static_cast<std::size_t>(state)];
  if (!known) known = std::make_unique<Choices>(every_choice(problem_.model, config_, state));
  for (ChoiceWays::Choice& choice : known->ways.choices) choice.share = std::max(cpu, back);
  return *known;
}

// A bound is below the peak by what the layers add within their passes. That is taken to be about
// the same of all choices, so the own plan tells which are likely to fit.
std::vector<Plan> MemorySets::hopeful(const Candidate& own, Seconds than,
                                      NeighbourPrices& prices, std::size_t most) {
  const Choices& all = choices_beside(own.plan);
  const auto [cpu, back] = shares_of(own.plan);
  Plan plain = own.plan;
  MemoryChoice{}.put_into(plain);
  const BoundsByChoice bounds = prices.bounds_by_choice(plain, all.ways);
  std::int64_t above = 0;
  for (std::size_t i = 0; i < bounds.choices() && own.plan.stages.empty(); ++i) {
    const MemoryChoice& c = all.list[i];
    if (c.recompute != recompute_of(own.plan) || c.offload != own.plan.offload ||
        c.offload_layers != own.plan.offload_layers) {
      continue;
    }
    if (bounds[i].peak_bytes >= kStepRefused) return {};  // as with every other choice
    above = own.estimate.peak_bytes() - bounds[i].peak_bytes;
    // Bounds leave one of two shares on the GPU, so there the own peak may be below its bound.
    if (cpu == 0 || back == 0) above = std::max<std::int64_t>(0, above);
  }
  struct Hopeful {
    Seconds bound;
    std::size_t choice;
  };
  std::vector<Hopeful> found;
  std::vector<std::uint32_t> smaller;  // sets to offload with the same recompute
  for (std::size_t i = 0; i < bounds.choices(); ++i) {
    const MemoryChoice& c = all.list[i];
    if (i > 0 && c.recompute != all.list[i - 1].recompute) smaller.clear();
    if (bounds[i].peak_bytes > prices.usable() - above) continue;
    if (bounds[i].step >= than) continue;
    const std::uint32_t set = bits_of(c.offload);
    const bool more = c.offload_layers == 0 &&
                      std::ranges::any_of(smaller, [&](std::uint32_t s) { return (set & s) == s; });
    if (more) continue;
    smaller.push_back(set);
    found.push_back({bounds[i].step, i});
  }
  std::ranges::stable_sort(found, {}, &Hopeful::bound);
  if (found.size() > most) found.resize(most);
  std::vector<Plan> plans;
  for (const Hopeful& h : found) {
    Plan& plan = plans.emplace_back(own.plan);
    all.list[h.choice].put_into(plan);
    plan.optimizer = own.plan.optimizer;
  }
  return plans;
}

}  // namespace pleat
