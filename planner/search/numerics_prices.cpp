// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/numerics_prices.hpp"

#include <algorithm>

#include "core/plan/constraints.hpp"
#include "planner/space/numerics_rules.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

constexpr std::size_t kSettledOn = 2;  // plans that a change of formats is priced on
constexpr std::size_t kGainOf = 3;     // plans that are priced with the formats of others
constexpr int kSweeps = 4;             // over all changes, while one gains
constexpr double kLeastChange = 1e-4;  // of the step: a change that gains less is not made
constexpr double kLeastGain = 5e-3;    // of the step: less is not told

// Whether plans may recompute and offload what they need to.
bool saves_freely(const SearchConfig& config) {
  return config.recompute_sets.empty() && config.offload_sets.empty() &&
         config.pin<"recompute-layers">().empty() && config.pin<"offload-layers">().empty() &&
         !config.by_stage.value_or(false);
}

// The plan without what it gives up for memory, but for what is pinned.
Plan lean_of(Plan plan, const SearchConfig& config) {
  if (saves_freely(config)) {
    plan.recompute.clear();
    plan.recompute_full = false;
    plan.recompute_layers = 0;
    plan.recompute_unit = 1;
    plan.offload.clear();
    plan.offload_layers = 0;
    plan.stages.clear();
  }
  if (!config.optimizer_offload.only(true)) plan.optimizer.state_offload = 0;
  if (!config.cpu_optimizer.value_or(false)) {
    plan.optimizer.cpu_offload = 0;
    plan.optimizer.cpu_offload_overlapped = false;
  }
  return plan;
}

}  // namespace

NumericsPrices::NumericsPrices(const Problem& problem, const SearchConfig& config,
                               const std::vector<Candidate>& plans, std::size_t most)
    : problem_(problem),
      runtime_(config.runtime),
      robust_(config.robust),
      gpus_(config.gpus),
      usable_(usable_bytes(problem.cluster, config)),
      saves_freely_(pleat::saves_freely(config)),
      estimator_(problem.model, problem.workload, problem.cluster, problem.profile,
                 config.runtime) {
  for (std::size_t i = 0; i < std::min(most, plans.size()); ++i) {
    plans_.push_back({lean_of(plans[i].plan, config), plans[i].plan});
  }
}

std::optional<Candidate> NumericsPrices::price(Plan plan, const Numerics& numerics) {
  numerics.put_into(plan);
  const GpuSpec& gpu = problem_.cluster.gpu;
  if (refused_by(runtime_, problem_.model, problem_.workload, plan, gpu) != nullptr)
    return std::nullopt;
  const PlanContext context{problem_.model, problem_.workload, plan, gpus_};
  for (const Constraint& rule : constraints()) {
    if (!rule.holds(context)) return std::nullopt;
  }
  ++priced_;
  Candidate c{plan, estimator_(plan)};
  if (!c.estimate.fits || c.estimate.peak_bytes() > usable_) return std::nullopt;
  return c;
}

std::optional<Candidate> NumericsPrices::operator()(const Numerics& numerics, bool save_less) {
  std::optional<Candidate> best;
  for (const Variants& v : plans_) {
    std::optional<Candidate> one = price(v.lean, numerics);
    if (!one && !(v.lean == v.found)) {
      one = price(v.found, numerics);
      if (one && save_less) one = saving_less(std::move(*one));
    }
    if (one && (!best || value_of(one->estimate, robust_) < value_of(best->estimate, robust_))) {
      best = std::move(one);
    }
  }
  return best;
}

Candidate NumericsPrices::saving_less(Candidate plan) {
  const Numerics numerics = numerics_of(plan.plan);
  while (saves_freely_) {
    std::optional<Candidate> best;
    const auto look_at = [&](const Plan& less) {
      std::optional<Candidate> one = price(less, numerics);
      const Seconds than = value_of((best ? *best : plan).estimate, robust_);
      if (one && value_of(one->estimate, robust_) < than) best = std::move(one);
    };
    for (const Module m : plan.plan.recompute) {
      Plan less = plan.plan;
      less.recompute.erase(m);
      look_at(less);
    }
    for (const Offload o : plan.plan.offload) {
      Plan less = plan.plan;
      less.offload.erase(o);
      look_at(less);
    }
    if (!best) break;
    plan = std::move(*best);
  }
  return plan;
}

namespace {

class Settling {
 public:
  Settling(const Problem& problem, const SearchConfig& config, const std::vector<Candidate>& best)
      : problem_(problem), config_(config), prices_(problem, config, best, kSettledOn) {
    now_ = numerics_of(best.front().plan);
    value_ = value_of(best.front().estimate, config.robust);
  }

  Numerics run() {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const Numerics before = now_;
      for (const NumericsValue& v : config_.free_numerics) try_value(v);
      if (now_ == before) break;
    }
    return now_;
  }

 private:
  void try_value(const NumericsValue& value) {
    if (has(now_, value)) return;
    Numerics changed = now_;
    put(value, changed);
    if (take_if_faster(changed)) return;
    for (const NumericsValue& other : config_.free_numerics) {
      Numerics both = changed;
      put(other, both);
      if (other.row != value.row && !has(now_, other)) take_if_faster(both);
    }
  }

  [[nodiscard]] bool is_refused(const Numerics& n) const {
    return refused_numerics(config_.runtime, problem_, n, config_.told_numerics).has_value();
  }

  // Returns false where none of the plans has these formats and fits.
  bool take_if_faster(const Numerics& changed) {
    if (is_refused(changed)) return false;
    const std::optional<Candidate> found = prices_(changed);
    if (!found) return false;
    const Seconds value = value_of(found->estimate, config_.robust);
    if (value >= value_ * (1 - kLeastChange)) return true;
    now_ = changed;
    value_ = value;
    return true;
  }

  const Problem& problem_;
  const SearchConfig& config_;
  NumericsPrices prices_;
  Numerics now_;
  Seconds value_;
};

}  // namespace

Numerics settle_numerics(const Problem& problem, const SearchConfig& config,
                         const std::vector<Candidate>& best) {
  if (best.empty()) return config.numerics.front();
  return Settling(problem, config, best).run();
}

std::optional<NumericsGain> numerics_gain(const Problem& problem, const SearchConfig& config,
                                          const SearchResult& result,
                                          const std::vector<Numerics>& others) {
  if (result.best.empty() || others.empty()) return std::nullopt;
  const Seconds before = value_of(result.best.front().estimate, config.robust);
  NumericsPrices prices(problem, config, result.best, kGainOf);
  std::optional<NumericsGain> gain;
  for (std::size_t i = 0; i < others.size(); ++i) {
    std::optional<Candidate> found = prices(others[i], true);
    if (!found) continue;
    const double ratio = value_of(found->estimate, config.robust) / before;
    if (ratio > 1 - kLeastGain || (gain && ratio >= gain->ratio)) continue;
    gain = NumericsGain{i, std::move(*found), ratio, 0};
  }
  if (gain) gain->priced = prices.priced();
  return gain;
}

}  // namespace pleat
