// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/layout_search.hpp"

#include <algorithm>
#include <cstdlib>

#include "core/program/compile_stage.hpp"
#include "planner/layout/layout_stages.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kMostLayouts = 20'000;     // timed for one plan
constexpr std::int64_t kMostSlots = 40'000'000;  // of their pipelines: about half a second
// Layouts that are a little longer at the burst clock may be faster at the clock that they sustain:
// how much longer, and how many are priced.
constexpr double kSlack = 0.04;
constexpr std::size_t kLayoutsPriced = 16;

struct Timed {
  Seconds step;
  Cuts cuts;
};

class LayoutSearch {
 public:
  LayoutSearch(LayoutStages& stages, const Schedule& order, const MemoryLimits& limits,
               const Plan& plan)
      : options_(stages), limits_(limits), plan_(plan), stages_(stages.stages()),
        pieces_(stages.pieces()) {
    const std::int64_t slots = 2 * std::int64_t{order.microbatches} * order.pp;
    most_timed_ = std::min(kMostLayouts, kMostSlots / slots + 1);
  }

  // Returns false if a layout that was not found may be faster.
  bool run() {
    own_ = options_.own_cuts();
    if (own_.empty() || !options_.price(own_)) return false;
    std::vector<const StageRow*> rows;
    for (int s = 0; s < stages_; ++s) {
      const StageOption& option = options_.option(s, own_[at(s)], own_[at(s + 1)]);
      if (!option.fits) return false;
      rows.push_back(&option.row);
    }
    best_ = options_.step(rows);
    cuts_.assign(at(stages_ + 1), 0);
    cuts_.back() = pieces_;
    reachable_.assign(at(stages_), std::vector<signed char>(at(pieces_ + 1), -1));
    if (find_windows()) descend(0, rows);
    return !options_.left_out() && timed_ <= most_timed_;
  }

  // The fastest valid layout, then valid ones that are hardly slower.
  [[nodiscard]] std::vector<Cuts> found() const {
    std::vector<Cuts> cuts;
    for (const Timed& t : found_) {
      if (t.step <= best_ * (1 + kSlack)) cuts.push_back(t.cuts);
    }
    return cuts;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // Every stage after the first holds at least one piece.
  [[nodiscard]] int first_cut(int stage) const { return std::max(0, stage - 1); }
  [[nodiscard]] int last_cut(int stage) const {
    return stage == 0 ? 0 : pieces_ - (stages_ - stage);
  }

  bool possible(int stage, int first, int end) {
    const StageOption& o = options_.option(stage, first, end);
    return o.fits && o.busy < best_ * (1 + kSlack);
  }

  // Computes the range of first pieces of each stage: a stage that can hold some pieces can hold
  // any part of them. Returns false if no layout can be faster.
  bool find_windows() {
    low_.assign(at(stages_), 0);
    high_.assign(at(stages_), 0);
    for (int s = 0; s + 1 < stages_; ++s) {
      const int first = high_[at(s)], most = last_cut(s + 1);
      int end = std::min(most, first + own_[at(s + 1)] - own_[at(s)]);
      while (end > first && !possible(s, first, end)) --end;
      while (end < most && possible(s, first, end + 1)) ++end;
      if (end == first && s > 0) return false;
      high_[at(s + 1)] = end;
    }
    for (int s = stages_ - 1; s > 0; --s) {
      const int end = s + 1 == stages_ ? pieces_ : low_[at(s + 1)], least = first_cut(s);
      int first = std::max(least, end - own_[at(s + 1)] + own_[at(s)]);
      while (first < end && !possible(s, first, end)) ++first;
      while (first > least && possible(s, first - 1, end)) --first;
      if (first >= end || first > high_[at(s)]) return false;
      low_[at(s)] = first;
    }
    return true;
  }

  // Whether this stage and those after it can hold the pieces from `first` on.
  bool reachable(int stage, int first) {
    signed char& known = reachable_[at(stage)][at(first)];
    if (known < 0) {
      known = 0;
      for_each_end(stage, first, [&](int end) {
        known = known != 0 || (possible(stage, first, end) &&
                               (stage + 1 == stages_ || reachable(stage + 1, end)));
      });
    }
    return known != 0;
  }

  // Visits the cuts at which the stage may end, those closest to the given plan's first.
  template <class Visit>
  void for_each_end(int stage, int first, const Visit& visit) const {
    if (stage + 1 == stages_) {
      visit(pieces_);
      return;
    }
    const int low = std::max(low_[at(stage + 1)], stage == 0 ? 0 : first + 1);
    const int high = high_[at(stage + 1)], own = own_[at(stage + 1)];
    const int furthest = std::max(std::abs(own - low), std::abs(own - high));
    for (int away = 0; away <= furthest; ++away) {
      if (own + away >= low && own + away <= high) visit(own + away);
      if (away > 0 && own - away >= low && own - away <= high) visit(own - away);
    }
  }

  void descend(int stage, std::vector<const StageRow*>& rows) {
    if (timed_ > most_timed_) return;
    if (stage == stages_) {
      ++timed_;
      take(options_.step(rows));
      return;
    }
    const int first = cuts_[at(stage)];
    for_each_end(stage, first, [&](int end) {
      if (!possible(stage, first, end)) return;
      if (stage + 1 < stages_ && !reachable(stage + 1, end)) return;
      if (stage + 1 < stages_) cuts_[at(stage + 1)] = end;
      rows[at(stage)] = &options_.option(stage, first, end).row;
      descend(stage + 1, rows);
    });
  }

  void take(Seconds step) {
    if (step > best_ * (1 + kSlack)) return;
    if (found_.size() == kLayoutsPriced && step >= found_.back().step) return;
    if (!allowed()) return;
    best_ = std::min(best_, step);
    found_.insert(std::ranges::upper_bound(found_, step, {}, &Timed::step), {step, cuts_});
    if (found_.size() > kLayoutsPriced) found_.pop_back();
  }

  // Whether the current layout is valid by the rules and fits host memory.
  bool allowed() {
    if (!options_.valid(cuts_)) return false;
    if (limits_.host == 0) return true;
    std::vector<StageMemory> memory;
    for (int s = 0; s < stages_; ++s) {
      memory.push_back(options_.option(s, cuts_[at(s)], cuts_[at(s + 1)]).memory);
    }
    return fullest_node(memory, plan_.world(), limits_.gpus_per_node) <= limits_.host;
  }

  LayoutStages& options_;
  const MemoryLimits& limits_;
  const Plan& plan_;
  int stages_, pieces_;
  Cuts own_, cuts_;                                  // the given plan's; at hand
  std::vector<int> low_, high_;                      // of each stage's first piece
  std::vector<std::vector<signed char>> reachable_;  // [stage][first piece]; -1: not known
  Seconds best_;
  std::vector<Timed> found_;  // fastest first
  std::int64_t timed_ = 0, most_timed_;
};

}  // namespace

FoundLayout best_layout(const Estimator& estimator, const Problem& problem,
                        const SearchConfig& config, const MemoryLimits& limits, Candidate from) {
  const Schedule order = schedule_of(from.plan, problem.workload);
  if (from.plan.attention.pp == 1 || chunks_of_stage(order) > 1) return {std::move(from), false};
  LayoutStages stages(estimator, problem, config, limits.usable, from.plan);
  LayoutSearch layouts(stages, order, limits, from.plan);
  FoundLayout result{.best = from, .every = layouts.run()};
  for (const Cuts& cuts : layouts.found()) {
    Candidate better{stages.with(cuts), {}};
    better.estimate = estimator(better.plan);
    if (better.estimate.peak_bytes() > limits.usable) continue;
    if (value_of(better.estimate, config.robust) < value_of(result.best.estimate, config.robust)) {
      result.best = std::move(better);
    }
  }
  return result;
}

}  // namespace pleat
