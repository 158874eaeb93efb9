// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/layout_bound.hpp"

#include <algorithm>
#include <limits>

#include "core/program/compile_stage.hpp"
#include "planner/layout/layout_pieces.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/estimator.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

// The smallest value, over all partitions, of the largest (work before the stage + m times its own
// work).
Seconds least_pipeline(const std::vector<Seconds>& layers, int stages, double microbatches) {
  std::vector<Seconds> before{Seconds(0)};
  for (const Seconds time : layers) before.push_back(before.back() + time);
  const std::size_t n = layers.size();
  const Seconds none(std::numeric_limits<double>::infinity());
  std::vector<Seconds> least(n + 1, none), next;  // by number of layers placed on the stages so far
  least[0] = Seconds(0);
  for (int s = 0; s < stages; ++s) {
    next.assign(n + 1, none);
    for (std::size_t end = 0; end <= n; ++end) {
      for (std::size_t first = 0; first <= end; ++first) {
        const Seconds own = before[first] + microbatches * (before[end] - before[first]);
        next[end] = std::min(next[end], std::max(least[first], own));
      }
    }
    least.swap(next);
  }
  return least[n];
}

}  // namespace

LayoutBound layout_bound(const Problem& problem,
                         const SearchConfig& config, const Plan& plan) {
  Profile burst = problem.profile;
  burst.sustained_clock.duty_slope = 0;
  const Estimator estimator(problem.model, problem.workload, problem.cluster, burst,
                            config.runtime);
  const Seconds own = estimator(plan).step;
  const Plan like = with_like_layers(plan);
  const LayoutPieces all =
      pieces_of(problem.model, problem.workload, like, estimator.parts(like), burst);
  const auto stages = static_cast<std::size_t>(plan.attention.pp);
  const double excess =
      slowest_excess(problem.workload, problem.profile, problem.cluster, plan.world());
  const double stretch = (1 + excess) * least_share(problem.cluster, plan.world(), stages);
  const Schedule order = schedule_of(plan, problem.workload);
  Seconds pipeline;
  if (plan.vpp == 1 && plan.schedule == PipelineSchedule::one_f_one_b) {
    pipeline = least_pipeline(all.in_order(), plan.attention.pp, order.microbatches);
  }
  const Seconds enough = (own - problem.profile.step_overhead) / stretch;
  pipeline =
      std::max(pipeline, critical_path_bound(tabulate(order), all.pieces, all.transfer, enough));
  return {.least = std::min(own, pipeline * stretch + problem.profile.step_overhead), .own = own};
}

}  // namespace pleat
