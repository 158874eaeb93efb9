// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Best-first branch and bound. A plan is refined from a bound with bare layers to one with its own
// layers to its estimate, always the plans with the smallest bounds first, in rounds of a fixed
// size. The search ends when no bound is below the K-th best estimate, so the answer is that of
// pricing every plan. Bounds are exchanged between rounds only: the number of threads changes
// nothing.
#include "planner/search.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <queue>

#include "planner/bounds.hpp"
#include "planner/layer_price_table.hpp"
#include "planner/parallel_rounds.hpp"
#include "planner/search_space.hpp"

namespace pleat {
namespace {

constexpr std::size_t kBoundRound = 512;   // plans refined per round
constexpr std::size_t kEstimateRound = 8;  // plans estimated per round
constexpr std::size_t kNearestTried = 32;  // plans estimated when nothing fits
constexpr std::size_t kNearestKept = 3;

struct Open {
  Seconds bound;
  std::size_t plan = 0;  // index into the space, which breaks ties
  bool own_layers = false;
};
struct Later {
  bool operator()(const Open& a, const Open& b) const {
    return a.bound != b.bound ? a.bound > b.bound : a.plan > b.plan;
  }
};

class Search {
 public:
  Search(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
         const Profile& profile, const SearchConfig& config)
      : model_(model),
        cluster_(cluster),
        workload_(workload),
        profile_(profile),
        config_(config),
        threads_(thread_count(config.threads)),
        space_(non_empty_space(model, cluster, workload, config)),
        prices_(model, cluster, workload, profile, config.runtime, threads_),
        least_memory_(space_.plans.size()),
        usable_(static_cast<std::int64_t>(cluster.gpu.memory.base() * (1 - config.memory_margin))) {
  }

  SearchResult run() {
    result_.enumerated = space_.enumerated;
    result_.rejected = space_.rejected;
    open_all();
    while (!open_.empty()) {
      const std::vector<Open> round = next_round();
      if (round.empty()) break;
      round.front().own_layers ? estimate_round(round) : refine_round(round);
    }
    if (!open_.empty()) count_rejected("time-bound", open_.size());
    if (result_.best.empty()) find_nearest();
    return std::move(result_);
  }

 private:
  // First bounds: bare layers for time, parameters and optimizer state for memory.
  void open_all() {
    std::vector<const Plan*> all;
    for (const Plan& plan : space_.plans) all.push_back(&plan);
    prices_.prepare(all, true);
    std::vector<PlanBounds> first(all.size());
    for_each_in_parallel(all.size(), threads_, [&](std::size_t i) {
      const Plan& plan = *all[i];
      first[i] =
          bounds(plan, model_, workload_, prices_.at(without_recompute(layer_key(plan))), false);
    });
    for (std::size_t i = 0; i < all.size(); ++i) admit(first[i], {first[i].step, i, false});
  }

  void admit(const PlanBounds& b, const Open& open) {
    least_memory_[open.plan] = b.peak_bytes;
    if (b.peak_bytes > usable_) {
      count_rejected("memory", 1);
    } else {
      open_.push(open);
    }
  }

  // The smallest bounds that may still enter the list of the best, all at the same refinement.
  std::vector<Open> next_round() {
    std::vector<Open> round;
    while (!open_.empty() && open_.top().bound <= cutoff()) {
      const Open& top = open_.top();
      if (!round.empty() && top.own_layers != round.front().own_layers) break;
      round.push_back(top);
      open_.pop();
      if (round.size() == (round.front().own_layers ? kEstimateRound : kBoundRound)) break;
    }
    return round;
  }

  [[nodiscard]] Seconds cutoff() const {
    const auto top = static_cast<std::size_t>(std::max(1, config_.top));
    if (result_.best.size() < top) return Seconds(std::numeric_limits<double>::infinity());
    return result_.best.back().estimate.step;
  }

  void refine_round(const std::vector<Open>& round) {
    std::vector<const Plan*> plans;
    for (const Open& o : round) plans.push_back(&space_.plans[o.plan]);
    prices_.prepare(plans, false);
    std::vector<PlanBounds> refined(round.size());
    for_each_in_parallel(round.size(), threads_, [&](std::size_t i) {
      refined[i] = bounds(*plans[i], model_, workload_, prices_.at(layer_key(*plans[i])), true);
    });
    for (std::size_t i = 0; i < round.size(); ++i) {
      admit(refined[i], {std::max(refined[i].step, round[i].bound), round[i].plan, true});
    }
  }

  [[nodiscard]] StepEstimate price_plan(std::size_t plan) const {
    const Program program = compile(model_, workload_, space_.plans[plan], config_.runtime);
    return estimate(program, cluster_, profile_);
  }

  void estimate_round(const std::vector<Open>& round) {
    std::vector<StepEstimate> estimates(round.size());
    for_each_in_parallel(round.size(), threads_,
                         [&](std::size_t i) { estimates[i] = price_plan(round[i].plan); });
    result_.priced += static_cast<std::int64_t>(round.size());
    for (std::size_t i = 0; i < round.size(); ++i) {
      least_memory_[round[i].plan] = estimates[i].peak_bytes();
      if (!estimates[i].fits || estimates[i].peak_bytes() > usable_) {
        count_rejected("memory", 1);
      } else {
        keep(round[i].plan, std::move(estimates[i]));
      }
    }
  }

  void keep(std::size_t plan, StepEstimate estimate) {
    const auto place = std::find_if(ranking_.begin(), ranking_.end(), [&](const auto& other) {
      return std::pair(estimate.step, plan) < other;
    });
    const auto at = place - ranking_.begin();
    ranking_.insert(place, {estimate.step, plan});
    result_.best.insert(result_.best.begin() + at, {space_.plans[plan], std::move(estimate)});
    if (ranking_.size() > static_cast<std::size_t>(std::max(1, config_.top))) {
      ranking_.pop_back();
      result_.best.pop_back();
      count_rejected("slower", 1);
    }
  }

  // Nothing fits: among the plans with the smallest memory bounds, those that miss least.
  void find_nearest() {
    std::vector<std::size_t> order(space_.plans.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return least_memory_[a] < least_memory_[b];
    });
    order.resize(std::min(order.size(), kNearestTried));
    std::vector<Candidate> tried(order.size());
    for_each_in_parallel(order.size(), threads_, [&](std::size_t i) {
      tried[i] = {space_.plans[order[i]], price_plan(order[i])};
    });
    result_.priced += static_cast<std::int64_t>(order.size());
    std::stable_sort(tried.begin(), tried.end(), [](const Candidate& a, const Candidate& b) {
      return a.estimate.peak_bytes() < b.estimate.peak_bytes();
    });
    tried.resize(std::min(tried.size(), kNearestKept));
    result_.nearest = std::move(tried);
  }

  void count_rejected(const char* rule, std::size_t plans) {
    result_.rejected[rule] += static_cast<std::int64_t>(plans);
  }

  const ModelSpec& model_;
  const ClusterSpec& cluster_;
  const WorkloadSpec& workload_;
  const Profile& profile_;
  const SearchConfig& config_;
  int threads_;
  SearchSpace space_;
  LayerPriceTable prices_;
  std::vector<std::int64_t> least_memory_;  // bytes, the best bound known of each plan
  std::int64_t usable_;                     // bytes of a GPU
  std::priority_queue<Open, std::vector<Open>, Later> open_;
  std::vector<std::pair<Seconds, std::size_t>> ranking_;  // parallel to result_.best
  SearchResult result_;
};

}  // namespace

SearchResult search(const ModelSpec& model, const ClusterSpec& cluster,
                    const WorkloadSpec& workload, const Profile& profile,
                    const SearchConfig& config) {
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = Search(model, cluster, workload, profile, config).run();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pleat
