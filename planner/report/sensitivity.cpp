// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/report/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/diagnostics.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "simulator/estimator.hpp"
#include "planner/search/search.hpp"

namespace pleat {
namespace {

bool fits(const StepEstimate& e, const ClusterSpec& cluster, double margin) {
  return e.fits && static_cast<double>(e.peak_bytes()) <= cluster.gpu.memory.base() * (1 - margin);
}

// By more than rounding.
bool is_better(Seconds value, const std::optional<Winner>& best) {
  constexpr double kRounding = 1e-9;
  return !best || value < best->value * (1 - kRounding);
}

Problem scaled(const Problem& problem, const StepInput& input, double factor) {
  Problem changed = problem;
  input.scale(changed, factor);
  return changed;
}

ChangedAnswer price(const Problem& problem,
                    const std::vector<Candidate>& plans, const SensitivityConfig& config) {
  const Estimator estimate(problem.model, problem.workload, problem.cluster, problem.profile,
                           config.runtime);
  ChangedAnswer answer;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const StepEstimate e = estimate(plans[i].plan);
    const bool room = fits(e, problem.cluster, config.memory_margin);
    const Seconds value = value_of(e, config.robust);
    if (i == 0) {
      answer.own = e.step;
      answer.own_value = value;
      answer.fits = room;
    }
    if (room && is_better(value, answer.best)) {
      answer.best = Winner{plans[i].plan, e.step, value, i};
    }
  }
  return answer;
}

// What a search finds beyond the list. An equally good plan of the list stays.
void look_further(const Problem& problem, const SearchConfig& config,
                  ChangedAnswer& answer) {
  SearchResult found;
  try {
    found = search(problem, config);
  } catch (const ConfigError&) {
    return;  // no plan of the space is valid
  }
  answer.proven = found.optimal;
  if (found.best.empty()) return;
  const Candidate& best = found.best.front();
  const Seconds value = value_of(best.estimate, config.robust);
  if (is_better(value, answer.best)) {
    answer.best = Winner{best.plan, best.estimate.step, value, {}};
  }
}

PlanSwing swing(const StepInput& input, ChangedAnswer less, ChangedAnswer more, Seconds base) {
  PlanSwing s{input.name, std::move(less), std::move(more), 0};
  s.effect = std::abs((s.more.own - s.less.own).base()) / base.base();
  return s;
}

void sort_by_effect(std::vector<PlanSwing>& swings) {
  std::ranges::stable_sort(swings, std::greater{}, &PlanSwing::effect);
}

}  // namespace

std::vector<PlanSwing> plan_sensitivity(const Problem& problem,
                                        const std::vector<Candidate>& plans,
                                        const SensitivityConfig& config) {
  PLEAT_ASSERT(!plans.empty());
  const std::vector<StepInput> inputs = step_inputs(problem.model, problem.cluster);
  std::vector<ChangedAnswer> answers(2 * inputs.size());
  for_each_in_parallel(answers.size(), thread_count(config.threads), [&](std::size_t i) {
    const double factor = i % 2 == 0 ? 1 - kSwing : 1 + kSwing;
    answers[i] = price(scaled(problem, inputs[i / 2], factor), plans, config);
  });
  std::vector<PlanSwing> swings;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    swings.push_back(swing(inputs[i], std::move(answers[2 * i]), std::move(answers[2 * i + 1]),
                           plans.front().estimate.step));
  }
  sort_by_effect(swings);
  return swings;
}

std::vector<PlanSwing> search_sensitivity(const Problem& problem,
                                          const std::vector<Candidate>& plans,
                                          const SearchConfig& search_config) {
  SearchConfig config = search_config;
  config.top = 1;
  std::vector<PlanSwing> swings = plan_sensitivity(
      problem, plans, {config.runtime, config.robust, config.memory_margin, config.threads});
  for (const StepInput& input : step_inputs(problem.model, problem.cluster)) {
    PlanSwing& s = *std::ranges::find(swings, input.name, &PlanSwing::input);
    look_further(scaled(problem, input, 1 - kSwing), config, s.less);
    look_further(scaled(problem, input, 1 + kSwing), config, s.more);
  }
  return swings;
}

}  // namespace pleat
