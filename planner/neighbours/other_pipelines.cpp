// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/other_pipelines.hpp"

#include <algorithm>

namespace pleat {

bool same_pipeline(const Plan& a, const Plan& b) {
  return a.attention == b.attention && a.vpp == b.vpp && a.schedule == b.schedule &&
         a.micro_batch == b.micro_batch && a.microbatch_group == b.microbatch_group;
}

void OtherPipelines::add(const std::vector<Neighbour>& plans, const Plan& best, Seconds value) {
  for (const Neighbour& n : plans) {
    if (n.bounded || !n.fits || n.plan.attention.pp == 1 || n.value > value * kHopefulLayout)
      continue;
    if (same_pipeline(n.plan, best)) continue;
    const auto known = std::ranges::find_if(
        met_, [&](const Neighbour& k) { return same_pipeline(k.plan, n.plan); });
    if (known == met_.end())
      met_.push_back(n);
    else if (n.value < known->value)
      *known = n;
  }
}

std::vector<Plan> OtherPipelines::take(const Plan& best, Seconds value, std::size_t most) {
  std::erase_if(met_, [&](const Neighbour& n) {
    return n.value > value * kHopefulLayout || same_pipeline(n.plan, best);
  });
  std::ranges::stable_sort(met_, {}, &Neighbour::value);
  std::vector<Plan> list;
  for (const Neighbour& n : met_) {
    if (list.size() < most) list.push_back(n.plan);
  }
  met_.clear();
  return list;
}

}  // namespace pleat
