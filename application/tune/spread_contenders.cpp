// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans whose predicted times are worth checking: from all over a search's range, and variants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "application/tune/contest.hpp"
#include "backend/supported.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/constraints.hpp"
#include "core/program/compile_stage.hpp"

namespace pleat {
namespace {

// What a search folds into other plans, or does not choose.
std::vector<Plan> variants_of(const Plan& plan) {
  std::vector<Plan> variants(5, plan);
  variants[0].precision = Precision::bf16;
  variants[1].recompute = {};
  variants[1].recompute_full = true;
  variants[2].sharding = Sharding::zero3;
  variants[2].optimizer_instances = 1;
  variants[3].offload = {Offload::core_attn, Offload::moe_act};
  variants[4].micro_batch = 1;
  return variants;
}

bool is_new(const std::vector<Contender>& chosen, const Plan& plan) {
  return std::ranges::none_of(chosen, [&](const Contender& c) { return c.plan == plan; });
}

// Plans on the same grids that differ in settings only are shades.
bool new_shape(const std::vector<Contender>& chosen, const Plan& plan) {
  return std::ranges::none_of(chosen, [&](const Contender& c) {
    return c.plan.attention == plan.attention && c.plan.expert == plan.expert;
  });
}

}  // namespace

bool runs_here(const Target& t, const Plan& plan) {
  if (!violations({t.model, t.workload, plan, t.gpus}).empty()) return false;
  try {
    require_supported(compile(t.model, t.workload, plan, Runtime::pleat));
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

std::vector<Contender> spread_contenders(const Target& target,
                                         const std::vector<Candidate>& candidates,
                                         std::size_t count) {
  PLEAT_ASSERT(!candidates.empty() && count > 0);
  std::vector<Contender> chosen;
  const auto add = [&](const Plan& plan, const StepEstimate& predicted) {
    chosen.push_back({.label = "", .plan = plan, .predicted = predicted});
  };
  add(candidates.front().plan, candidates.front().estimate);
  for (const Plan& variant : variants_of(candidates.front().plan)) {
    if (chosen.size() > count / 3 || !is_new(chosen, variant) || !runs_here(target, variant))
      continue;
    const Program program = compile(target.model, target.workload, variant, Runtime::pleat);
    const StepEstimate e = estimate(program, target.cluster, target.profile);
    if (e.fits) add(variant, e);
  }
  // Evenly over the logarithm of the time; the next candidate on a new grid, else the next one.
  const double fastest = std::log(candidates.front().estimate.step.base());
  const double slowest = std::log(candidates.back().estimate.step.base());
  const std::size_t first = chosen.size();
  for (std::size_t i = first; i < count; ++i) {
    const double share = static_cast<double>(i - first + 1) / static_cast<double>(count - first);
    const double at = fastest + share * (slowest - fastest);
    const Candidate* nearest = nullptr;
    double least = 0;
    for (const Candidate& c : candidates) {
      if (!is_new(chosen, c.plan)) continue;
      const double known_grid = new_shape(chosen, c.plan) ? 0 : 0.1;  // as far as 10% of the time
      const double off = std::abs(std::log(c.estimate.step.base()) - at) + known_grid;
      if (nearest != nullptr && off >= least) continue;
      nearest = &c;
      least = off;
    }
    if (nearest == nullptr) break;
    add(nearest->plan, nearest->estimate);
  }
  // The winner of the search stays the first one even if a variant is predicted faster.
  std::sort(chosen.begin() + 1, chosen.end(), [](const Contender& a, const Contender& b) {
    return a.predicted.step < b.predicted.step;
  });
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    chosen[i].label = i == 0 ? "winner" : fmt::format("plan {}", i + 1);
  }
  return chosen;
}

}  // namespace pleat
