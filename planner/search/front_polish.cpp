// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/front_polish.hpp"

#include <algorithm>
#include <iterator>

#include "planner/layout/layout_polish.hpp"
#include "planner/search/different_plans.hpp"
#include "planner/search/parallel_rounds.hpp"

namespace pleat {
namespace {

// Takes one plan out of the counts. Under which name the search counted it is not known.
void uncount_one(std::map<std::string, std::int64_t>& rejected) {
  for (const char* rule :
       {"slower", "variant", "alike", "over-saving", "not-reached", "time-bound", "memory"}) {
    const auto at = rejected.find(rule);
    if (at == rejected.end() || at->second <= 0) continue;
    if (--at->second == 0) rejected.erase(at);
    return;
  }
}

}  // namespace

void polish_front(const Problem& problem, const SearchConfig& config, Front& front,
                  KnownPrices* known) {
  for_each_in_parallel(front.plans.size(), thread_count(config.threads), [&](std::size_t i) {
    Candidate& plan = front.plans[i];
    SearchConfig own = config;
    own.most_bytes = plan.estimate.peak_bytes();
    plan = polish_layout(problem, own, plan, known).best;
  });
}

void put_into_front(const std::vector<Candidate>& listed, bool robust, double gpu_bytes,
                    double slack, Front& front) {
  const auto value = [&](const Candidate& c) { return value_of(c.estimate, robust); };
  const auto step_down =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kFrontResolution * gpu_bytes));
  std::vector<Candidate> plans = listed;
  std::ranges::move(front.plans, std::back_inserter(plans));
  front.plans.clear();
  std::ranges::stable_sort(plans, [&](const Candidate& a, const Candidate& b) {
    return value(a) != value(b) ? value(a) < value(b)
                                : a.estimate.peak_bytes() < b.estimate.peak_bytes();
  });
  for (Candidate& c : plans) {
    if (!front.plans.empty()) {
      if (value(c) > value(front.plans.front()) * (1 + slack)) break;
      if (c.estimate.peak_bytes() > front.plans.back().estimate.peak_bytes() - step_down) continue;
    }
    front.plans.push_back(std::move(c));
  }
}

void put_into_list(const Candidate& plan, std::size_t most, bool robust, double gpu_bytes,
                   SearchResult& result) {
  const auto listed = [&](const Candidate& c) { return c.plan == plan.plan; };
  if (std::ranges::any_of(result.best, listed)) return;
  uncount_one(result.rejected);
  std::vector<Candidate> plans{plan}, proven;
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    const bool best = i < result.best_of_layouts.size() && result.best_of_layouts[i];
    if (best) proven.push_back(result.best[i]);
    plans.push_back(std::move(result.best[i]));
  }
  std::ranges::stable_sort(plans, {},
                           [&](const Candidate& c) { return value_of(c.estimate, robust); });
  result.best = different_plans(std::move(plans), most, robust, gpu_bytes, result.rejected);
  result.best_of_layouts.clear();
  for (const Candidate& c : result.best) {
    const auto same = [&](const Candidate& p) { return p.plan == c.plan; };
    result.best_of_layouts.push_back(std::ranges::any_of(proven, same));
  }
  result.bound = std::min(result.bound, value_of(result.best.front().estimate, robust));
}

}  // namespace pleat
