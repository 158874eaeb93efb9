// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/plan.hpp"

#include <algorithm>
#include <utility>

#include "planner/layout/layout_polish.hpp"
#include "planner/neighbours/list_anew.hpp"
#include "planner/neighbours/neighbours.hpp"
#include "planner/search/front_polish.hpp"
#include "planner/search/search.hpp"

namespace pleat {
namespace {

class Planning {
 public:
  Planning(const Problem& problem, const PlanRequest& request)
      : problem_(problem), request_(request), gpu_bytes_(problem.cluster.gpu.memory.base()) {
    answer_.search = request.search;
  }

  PlanAnswer run() {
    switch (request_.goal) {
      case PlanGoal::time_to_train:
      case PlanGoal::cost: choose_size(); break;
      case PlanGoal::throughput:
      case PlanGoal::memory_headroom: search_all_gpus(); break;
    }
    const bool headroom = request_.goal == PlanGoal::memory_headroom;
    if ((headroom || request_.front) && !answer_.result.best.empty()) {
      find_front();
      if (headroom) choose_headroom();
    }
    if (request_.goal == PlanGoal::throughput) look_at_fewer();
    return std::move(answer_);
  }

 private:
  void search_all_gpus() {
    SearchConfig first = request_.search;
    const bool headroom = request_.goal == PlanGoal::memory_headroom;
    if (headroom) first.top = 1;
    answer_.result = search(problem_, first, &known_);
    polish_layouts(problem_, request_.search, answer_.result, &known_);
    try_neighbours(problem_, first, answer_.result, &known_);
    const bool whole = answer_.result.optimal && !answer_.result.best.empty();
    if (request_.goal == PlanGoal::throughput && request_.ranked > 0 && whole) rank_more();
  }

  // A search that is certain of more plans meets others on its way, and changes of these may end
  // elsewhere. So the answer is found first, and then put into the longer list.
  void rank_more() {
    SearchResult& found = answer_.result;
    SearchConfig config = rest_of_limits(request_.search, found.seconds, found.priced);
    config.top = config.certain = request_.ranked;
    SearchResult ranked = search(problem_, config, &known_);
    if (!ranked.optimal) return;  // a limit
    polish_layouts(problem_, config, ranked, &known_);
    ranked.seconds += found.seconds;
    ranked.priced += found.priced;
    ranked.neighbours = std::move(found.neighbours);
    const bool every = !found.best_of_layouts.empty() && found.best_of_layouts.front();
    std::ranges::rotate(found.best, found.best.begin() + 1);
    list_anew(problem_, config, std::move(found.best), every, ranked);
    found = std::move(ranked);
    answer_.search.top = answer_.search.certain = request_.ranked;
  }

  void choose_size() {
    const SearchConfig& asked = request_.search;
    const int fewest = request_.fewest_gpus > 0 ? request_.fewest_gpus : asked.gpus / 16;
    answer_.sizes = search_sizes(problem_, asked, fewest);
    double seconds = 0;  // what all sizes have used up of the limits, which hold for them together
    std::int64_t priced = 0;
    for (const SizeResult& s : answer_.sizes) {
      seconds += s.result.seconds;
      priced += s.result.priced;
    }
    for (SizeResult& s : answer_.sizes) {
      const double seconds_before = s.result.seconds;
      const std::int64_t priced_before = s.result.priced;
      SearchConfig own = rest_of_limits(asked, seconds - seconds_before, priced - priced_before);
      own.gpus = s.gpus;
      polish_layouts(problem_, own, s.result);
      try_neighbours(problem_, own, s.result);
      seconds += s.result.seconds - seconds_before;
      priced += s.result.priced - priced_before;
    }
    const bool cost = request_.goal == PlanGoal::cost;
    const SizeResult* best = cost ? cheapest_size(answer_.sizes, asked.robust)
                                  : fastest_size(answer_.sizes, asked.robust);
    if (best == nullptr) best = &answer_.sizes.front();
    answer_.search.gpus = best->gpus;
    answer_.result = best->result;
    certify_sizes(answer_.sizes, cost ? Objective::gpu_time : Objective::step_of_sizes, best->gpus,
                  answer_.result);
  }

  // Finds the front, and makes it and the list of best plans agree.
  void find_front() {
    SearchResult& result = answer_.result;
    const SearchConfig& config = answer_.search;
    Front front = pareto_front(problem_, config, request_.slack, result, known_);
    polish_front(problem_, config, front, &known_);
    put_into_front(result.best, config.robust, gpu_bytes_, request_.slack, front);
    put_into_list(front.plans.front(), result.best.size(), config.robust, gpu_bytes_, result);
    answer_.front = std::move(front);
  }

  // Lists the plans that need no more memory than the last of the front. If a limit cut the front
  // short, that plan alone, without proof.
  void choose_headroom() {
    Front& front = *answer_.front;
    SearchConfig& config = answer_.search;
    SearchResult& result = answer_.result;
    const Candidate least = front.plans.back();
    const Seconds fastest = value_of(front.plans.front().estimate, config.robust);
    config.most_bytes = least.estimate.peak_bytes();
    if (!front.optimal) {
      result.optimal = false;
      result.bound = std::min(result.bound, fastest);
      result.best = {least};
      result.best_of_layouts.clear();
      result.most_bytes = config.most_bytes;
      return;
    }
    SearchConfig rest = rest_of_limits(config, front.seconds, front.priced);
    rest.not_above = fastest * (1 + request_.slack);
    SearchResult found = search(problem_, rest, &known_);
    polish_layouts(problem_, rest, found, &known_);
    try_neighbours(problem_, rest, found, &known_);
    // The front has proven that plan, whatever else is found.
    put_into_list(least, static_cast<std::size_t>(config.top), config.robust, gpu_bytes_, found);
    if (!found.optimal) found.bound = value_of(found.best.front().estimate, config.robust);
    put_into_front({found.best.front()}, config.robust, gpu_bytes_, request_.slack, front);
    result = std::move(found);
  }

  void look_at_fewer() {
    const SearchResult& result = answer_.result;
    if (result.best.empty() || !result.optimal) return;
    double seconds = result.seconds;
    std::int64_t priced = result.priced;
    if (answer_.front) {
      seconds = std::max(seconds, answer_.front->seconds);
      priced = std::max(priced, answer_.front->priced);
    }
    answer_.faster_on_fewer =
        faster_on_fewer(problem_, rest_of_limits(answer_.search, seconds, priced),
                        value_of(result.best.front().estimate, answer_.search.robust));
  }

  const Problem& problem_;
  const PlanRequest& request_;
  double gpu_bytes_;    // of a GPU's memory
  KnownPrices known_;   // with all GPUs
  PlanAnswer answer_;
};

}  // namespace

PlanAnswer plan(const Problem& problem, const PlanRequest& request) {
  return Planning(problem, request).run();
}

}  // namespace pleat
