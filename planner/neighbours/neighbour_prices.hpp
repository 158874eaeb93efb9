// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices of many plans at once, within a budget that counts estimates and slots, not seconds.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/program/compile_stage.hpp"
#include "core/stopwatch.hpp"
#include "planner/bounds/bounds.hpp"
#include "planner/problem.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// A plan that is asked about, and the answer.
struct Neighbour {
  Plan plan;
  int least_share = -1;  // row of a share that is to be as little as fits; it is put into the plan
  // Answers. `bounded`: its bound is above the cutoff, it has no price.
  bool bounded = false, fits = false;
  Seconds value;
  std::int64_t over = 0;  // bytes of a GPU beyond what it may use
  std::int64_t peak = 0;
};

class NeighbourPrices {
 public:
  // The references must outlive it.
  NeighbourPrices(const Problem&, const SearchConfig&, PlanPrices&, std::int64_t prices,
                  std::int64_t slots);

  // Prices the plans from `first` on, in order, until the budget is used up; the others are
  // dropped. Plans above the cutoff may stay without a price. `best`: of the fastest plan so far.
  void price(std::vector<Neighbour>&, std::size_t first, Seconds cutoff, Seconds best);
  [[nodiscard]] Candidate candidate(const Plan& plan) const { return {plan, estimator_(plan)}; }
  // Of all choices beside a plan that gives up nothing (BoundTable::by_choice).
  [[nodiscard]] BoundsByChoice bounds_by_choice(const Plan& plain,
                                                         const ChoiceWays& ways) {
    return bounds_.by_choice(plain, schedule_of(plain, problem_.workload), ways, usable_,
                             Seconds(std::numeric_limits<double>::infinity()));
  }
  [[nodiscard]] std::int64_t usable() const { return usable_; }  // bytes of a GPU

  // Whether the limit of time has passed, or the progress that this shows is answered with false.
  [[nodiscard]] bool stopped(Seconds best);
  [[nodiscard]] double seconds() const { return clock_.seconds(); }  // since the start
  [[nodiscard]] bool used_up() const { return stopped_ || prices_ <= 0 || slots_ <= 0; }
  [[nodiscard]] std::int64_t priced() const { return priced_; }
  [[nodiscard]] std::int64_t tried() const { return tried_; }  // priced, or only bounded
  // Replaces what is left of the budget. Never more estimates than the config allows in all.
  void allow(std::int64_t prices, std::int64_t slots);

 private:
  [[nodiscard]] std::int64_t slots_of(const Plan&) const;
  // Returns how many estimates that took.
  int answer(Neighbour&, Seconds cutoff);
  int put_least_share(Neighbour&);
  [[nodiscard]] bool fits(const StepEstimate&) const;

  const Problem& problem_;
  const SearchConfig& config_;
  const Estimator& estimator_;
  BoundTable& bounds_;
  Workers workers_;
  std::int64_t usable_, host_;
  std::int64_t prices_ = 0, slots_ = 0;  // left
  std::int64_t priced_ = 0, tried_ = 0;
  std::size_t since_forgotten_ = 0;
  bool stopped_ = false;
  Stopwatch clock_;
};

}  // namespace pleat
