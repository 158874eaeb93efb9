// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Estimates of every plan of a small space, and which of them a search is to choose from.
#pragma once

#include <set>
#include <tuple>

#include "planner/memory_tree.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/random_case.hpp"

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
    for (const SpacePlan& p : enumerate_plans(c.model, c.cluster, c.workload, one)) {
      all.push_back({n, p, estimator(p.plan)});
    }
  }
  return all;
}

// Plans that fit, and give up nothing that the same setting fits without.
inline std::vector<const Priced*> admitted(const RandomCase& c, const std::vector<Priced>& all,
                                           std::size_t numerics, std::int64_t usable) {
  const MemoryTree tree(memory_choices(c.model, c.cluster, c.config));
  std::vector<const Priced*> result;
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> without;  // needed no more
  for (const Priced& p : all) {  // in the order of choices: those above come first
    if (p.numerics != numerics) continue;
    const auto [mesh, setting, memory, plan] = p.at;
    const double host = c.cluster.host_memory.base();
    const bool fits = p.estimate.peak_bytes() <= usable &&
                      (host <= 0 || static_cast<double>(p.estimate.host_bytes) <= host);
    const bool needed = !without.contains({mesh, setting, memory});
    if (fits && needed) result.push_back(&p);
    if (!fits && needed) continue;
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
