// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/different_plans.hpp"

#include <algorithm>
#include <cmath>

#include "planner/search_config.hpp"

namespace pleat {

bool same_mesh(const Plan& a, const Plan& b) {
  return a.precision == b.precision && a.attention == b.attention && a.expert == b.expert &&
         a.vpp == b.vpp && a.schedule == b.schedule && a.micro_batch == b.micro_batch;
}

bool variants(const Plan& a, const Plan& b) {
  return same_mesh(a, b) && recompute_of(a) == recompute_of(b) &&
         a.offload == b.offload && a.offload_layers == b.offload_layers &&
         a.stages.empty() == b.stages.empty() &&
         a.optimizer.state_offload == b.optimizer.state_offload &&
         a.optimizer.cpu_offload == b.optimizer.cpu_offload;
}

std::vector<Candidate> different_plans(std::vector<Candidate> plans, std::size_t most, bool robust,
                                       double gpu_bytes,
                                       std::map<std::string, std::int64_t>& rejected) {
  const auto close = [&](const Candidate& a, const Candidate& b) {
    const auto apart =
        static_cast<double>(a.estimate.peak_bytes() - b.estimate.peak_bytes());
    return same_mesh(a.plan, b.plan) && std::abs(apart) < kCloseMemory * gpu_bytes &&
           value_of(b.estimate, robust) <= value_of(a.estimate, robust) * (1 + kCloseValue);
  };
  std::vector<Candidate> listed;
  for (Candidate& c : plans) {
    const auto is = [&](const auto& relation) {
      return std::ranges::any_of(listed, [&](const Candidate& l) { return relation(l, c); });
    };
    if (is([](const auto& l, const auto& own) { return variants(l.plan, own.plan); })) {
      ++rejected["variant"];
    } else if (is(close)) {
      ++rejected["alike"];
    } else if (listed.size() == most) {
      ++rejected["slower"];
    } else {
      listed.push_back(std::move(c));
    }
  }
  return listed;
}

}  // namespace pleat
