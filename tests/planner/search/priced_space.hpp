// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Estimates of every plan of a small space, and which of them a search is to choose from.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "planner/space/memory_tree.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat::test {

struct Priced {
  std::size_t numerics = 0;
  SpacePlan at;
  StepEstimate estimate;
};

inline std::vector<Priced> price_all(const RandomCase& c) {
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
  std::vector<Priced> all;
  for (std::size_t n = 0; n < c.config.numerics.size(); ++n) {
    SearchConfig one = c.config;
    one.numerics = {c.config.numerics[n]};
    for (const SpacePlan& p : enumerate_plans(c, one)) {
      all.push_back({n, p, estimator(p.plan)});
    }
  }
  return all;
}

inline bool fits_hosts(const RandomCase& c, const StepEstimate& e) {
  const double host = c.cluster.host_memory.base();
  return host <= 0 || static_cast<double>(e.host_bytes) <= host;
}

// All ways of the stages of one mesh and setting to choose for themselves, each priced as a plan.
class WaysOfStages {
 public:
  WaysOfStages(const RandomCase& c, const std::vector<Priced>& all)
      : case_(c),
        choices_(memory_choices(c.model, c.cluster, c.config)),
        tree_(choices_),
        estimator_(c.model, c.workload, c.cluster, c.profile, c.config.runtime) {
    for (const Priced& p : all) known_[{p.numerics, p.at.mesh, p.at.setting, p.at.memory}] = &p;
  }
  [[nodiscard]] const std::vector<MemoryChoice>& choices() const { return choices_; }

  // The best one beside `plain`, the plan of its state that gives up nothing, unless stages that
  // all do the same are as good. `index`: of the choice by stage.
  std::optional<Priced> best(const Priced& plain, std::size_t index, std::int64_t usable) {
    options_.assign(static_cast<std::size_t>(plain.at.plan.attention.pp), {});
    for (std::size_t s = 0; s < options_.size(); ++s) collect(plain, plain.at.memory, s, usable);
    best_.reset();
    uniform_.reset();
    way_.clear();
    Priced one{plain.numerics, plain.at, {}};
    one.at.memory = index;
    enumerate(one);
    if (!best_ || (uniform_ && *uniform_ <= best_->estimate.step)) return std::nullopt;
    return best_;
  }

 private:
  // What fits the stage, and of what lies below that nothing.
  void collect(const Priced& plain, std::size_t m, std::size_t s, std::int64_t usable) {
    const auto found = known_.find({plain.numerics, plain.at.mesh, plain.at.setting, m});
    if (found != known_.end() && found->second->estimate.memory[s].peak <= usable) {
      options_[s].push_back(m);
      return;
    }
    for (const std::int16_t below : tree_.below(static_cast<int>(m))) {
      const MemoryChoice& next = choices_[static_cast<std::size_t>(below)];
      if (next.by_stage || next.state != choices_[plain.at.memory].state) continue;
      collect(plain, static_cast<std::size_t>(below), s, usable);
    }
  }

  void enumerate(Priced& one) {
    const std::size_t s = way_.size();
    if (s == options_.size()) {
      one.estimate = estimator_(one.at.plan);
      if (!fits_hosts(case_, one.estimate)) return;
      if (std::ranges::adjacent_find(way_, std::ranges::not_equal_to{}) == way_.end()) {
        uniform_ = std::min(uniform_.value_or(one.estimate.step), one.estimate.step);
      }
      if (!best_ || one.estimate.step < best_->estimate.step) best_ = one;
      return;
    }
    for (const std::size_t m : options_[s]) {
      const MemoryChoice& c = choices_[m];
      one.at.plan.stages.push_back({static_cast<int>(s), c.recompute.modules, c.recompute.full,
                                    c.recompute.layers, c.recompute.unit, c.offload});
      way_.push_back(m);
      enumerate(one);
      way_.pop_back();
      one.at.plan.stages.pop_back();
    }
  }

  const RandomCase& case_;
  std::vector<MemoryChoice> choices_;
  MemoryTree tree_;
  Estimator estimator_;
  std::map<std::array<std::size_t, 4>, const Priced*> known_;
  std::vector<std::vector<std::size_t>> options_;  // by stage
  std::vector<std::size_t> way_;
  std::optional<Priced> best_;
  std::optional<Seconds> uniform_;
};

// Plans that fit, and give up nothing that the same setting fits without. Those by stage are put
// into `made`.
inline std::vector<const Priced*> admitted(const RandomCase& c, const std::vector<Priced>& all,
                                           std::size_t numerics, std::int64_t usable,
                                           std::deque<Priced>& made) {
  const MemoryTree tree(memory_choices(c.model, c.cluster, c.config));
  WaysOfStages ways(c, all);
  std::vector<const Priced*> result;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> without;  // needed no more
  for (const Priced& p : all) {  // in the order of choices: those above come first
    if (p.numerics != numerics) continue;
    const auto [mesh, setting, memory, plan] = p.at;
    const bool fits = p.estimate.peak_bytes() <= usable && fits_hosts(c, p.estimate);
    const bool needed = !without.contains({mesh, setting, memory});
    if (fits && needed) result.push_back(&p);
    if (!fits && needed) {
      for (const std::int16_t below : tree.below(static_cast<int>(memory))) {
        if (!ways.choices()[static_cast<std::size_t>(below)].by_stage) continue;
        if (plan.attention.pp == 1) continue;
        auto best = ways.best(p, static_cast<std::size_t>(below), usable);
        if (best) result.push_back(&made.emplace_back(std::move(*best)));
      }
      continue;
    }
    const auto skip = [&](const auto& self, std::size_t m) -> void {
      for (const std::int16_t below : tree.below(static_cast<int>(m))) {
        without.insert({mesh, setting, static_cast<std::size_t>(below)});
        self(self, static_cast<std::size_t>(below));
      }
    };
    skip(skip, memory);
  }
  return result;
}

}  // namespace pleat::test
