// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/layout_polish.hpp"

#include <algorithm>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/numerics.hpp"
#include "core/program/compile_stage.hpp"
#include "core/program/pipeline_order.hpp"
#include "core/stopwatch.hpp"
#include "planner/bounds/bounds.hpp"
#include "planner/layout/chunk_layouts.hpp"
#include "planner/layout/moved_layer.hpp"
#include "planner/layout/rank_balance.hpp"
#include "planner/search/different_plans.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/estimator.hpp"

namespace pleat {
namespace {

constexpr int kMostMoves = 64;
constexpr int kFewStages = 16;  // up to here a layer may move between any two stages
constexpr int kVeryFew = 6;     // up to here two layers may move at once

// What a layout may gain by a clock of its own, in steps of 1 / 1024 of a clock.
constexpr double kOwnClock = 1.001;

constexpr double kHopefulStart = 1.03;  // slower layouts are no starts

int stages_of(const Plan& plan) { return plan.attention.pp * plan.vpp; }

class LayoutPolish {
 public:
  LayoutPolish(const Problem& p, const SearchConfig& config, PlanPrices& prices)
      : problem_(p),
        config_(config),
        estimator_(prices.estimator),
        bounds_(prices.bounds),
        limits_(memory_limits(p.cluster, config)) {}

  FoundLayout run(Candidate from) const {
    if (from.plan.attention.pp == 1 || config_.pin<"layout">()) return {std::move(from), true};
    FoundLayout found = best_layout(estimator_, problem_, config_, limits_, std::move(from));
    if (found.every) return found;
    Candidate best = descend(found.best);
    for (Candidate& start : other_starts(found.best)) {
      Candidate end = descend(std::move(start));
      if (value(end) < value(best)) best = std::move(end);
    }
    found.best = std::move(best);
    return found;
  }

 private:
  [[nodiscard]] Seconds value(const Candidate& c) const {
    return value_of(c.estimate, config_.robust);
  }

  // Layouts that balance the ranks or the stages and are about as fast. Moves of single layers do
  // not reach them from others.
  [[nodiscard]] std::vector<Candidate> other_starts(const Candidate& from) const {
    std::vector<Candidate> starts;
    const Schedule order = schedule_of(from.plan, problem_.workload);
    if (chunks_of_stage(order) == 1) return starts;
    const std::vector<VirtualStage> own = stage_layout(from.plan, problem_.model);
    const std::int64_t seq_len = problem_.workload.seq_len;
    for (const std::vector<VirtualStage>& stages :
         {rank_balanced_layout(problem_.model, seq_len, order, LighterChunks::first),
          rank_balanced_layout(problem_.model, seq_len, order, LighterChunks::last),
          balanced_layout(problem_.model, seq_len, order.pp, order.vpp)}) {
      if (stages.empty() || stages == own) continue;
      Candidate& c = starts.emplace_back(from.plan, StepEstimate{});
      c.plan.layout = to_layout_string(stages);
      if (!allowed(c.plan)) {
        starts.pop_back();
        continue;
      }
      c.estimate = estimator_(c.plan);
      if (!fits(c.estimate) || value(c) > value(from) * kHopefulStart) starts.pop_back();
    }
    return starts;
  }

  [[nodiscard]] bool allowed(const Plan& plan) const {
    return violations({problem_.model, problem_.workload, plan, config_.gpus}).empty() &&
           builds_layout(config_.runtime, problem_.model, plan);
  }

  [[nodiscard]] bool fits(const StepEstimate& e) const {
    return e.peak_bytes() <= limits_.usable &&
           (limits_.host == 0 || e.host_bytes <= limits_.host);
  }

  [[nodiscard]] Candidate descend(Candidate best) const {
    for (int move = 0; move < kMostMoves; ++move) {
      std::optional<Candidate> better =
          best_move(best, stage_layout(best.plan, problem_.model), true);
      const int stages = stages_of(best.plan);
      if (!better && stages <= kFewStages) better = moves_in_turn(best);
      if (!better && stages <= kVeryFew) better = best_two_moves(best);
      if (!better) break;
      best = std::move(*better);
    }
    return best;
  }

  // The best layout one move away from `stages`, if that is better than `from`.
  [[nodiscard]] std::optional<Candidate> best_move(const Candidate& from,
                                                   const std::vector<VirtualStage>& stages,
                                                   bool off_busiest) const {
    const Schedule order{.pp = from.plan.attention.pp,
                         .vpp = from.plan.vpp,
                         .kind = from.plan.schedule};
    const std::vector<bool> busy = stages_on(order, busiest_rank(from.estimate));
    const int clock = estimator_.clock(from.plan);
    std::optional<Candidate> best;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if ((off_busiest && !busy[i]) || stages[i].layers == 0) continue;
      for (std::size_t j = 0; j < stages.size(); ++j) {
        if (j == i || (off_busiest && busy[j])) continue;
        const Candidate& so_far = best ? *best : from;
        auto better = if_better(from.plan, with_moved_layer(stages, i, j), so_far.estimate, clock);
        if (better) best = std::move(better);
      }
    }
    return best;
  }

  // Each layer to each other stage in turn; a move that helps is kept at once.
  [[nodiscard]] std::optional<Candidate> moves_in_turn(const Candidate& from) const {
    std::vector<VirtualStage> stages = stage_layout(from.plan, problem_.model);
    const int clock = estimator_.clock(from.plan);
    std::optional<Candidate> best;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      for (std::size_t j = 0; j < stages.size(); ++j) {
        if (j == i || stages[i].layers == 0) continue;
        const Candidate& so_far = best ? *best : from;
        auto better = if_better(from.plan, with_moved_layer(stages, i, j), so_far.estimate, clock);
        if (!better) continue;
        best = std::move(better);
        stages = with_moved_layer(stages, i, j);
      }
    }
    return best;
  }

  [[nodiscard]] std::optional<Candidate> best_two_moves(const Candidate& from) const {
    const std::vector<VirtualStage> stages = stage_layout(from.plan, problem_.model);
    std::optional<Candidate> best;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      for (std::size_t j = 0; j < stages.size(); ++j) {
        if (j == i || stages[i].layers == 0) continue;
        auto better = best_move(best ? *best : from, with_moved_layer(stages, i, j), false);
        if (better) best = std::move(better);
      }
    }
    return best;
  }

  // The plan with that layout, if it is valid and its value lower. `clock` is that of `plan`; a
  // layout that is clearly no faster at it is not priced in full.
  [[nodiscard]] std::optional<Candidate> if_better(const Plan& plan,
                                                   const std::vector<VirtualStage>& stages,
                                                   const StepEstimate& than, int clock) const {
    Candidate moved{plan, {}};
    moved.plan.layout = to_layout_string(stages);
    if (!allowed(moved.plan)) return std::nullopt;
    // Most moves only make another rank the busiest. Their bound shows that and is cheaper than a
    // price.
    if (bounds_.own(moved.plan, than.step).step > than.step) return std::nullopt;
    if (!config_.robust && estimator_.step_at(moved.plan, clock) >= than.step * kOwnClock) {
      return std::nullopt;
    }
    moved.estimate = estimator_(moved.plan);
    if (!fits(moved.estimate)) return std::nullopt;
    if (value(moved) >= value_of(than, config_.robust)) return std::nullopt;
    return moved;
  }

  [[nodiscard]] static Stage busiest_rank(const StepEstimate& e) {
    return std::ranges::max_element(e.stages, {}, &StageTime::busy)->stage;
  }

  // Which virtual stages the rank holds.
  static std::vector<bool> stages_on(const Schedule& order, Stage rank) {
    std::vector<bool> held(static_cast<std::size_t>(virtual_stages(order)));
    for (int c = 0; c < chunks_of_stage(order); ++c) {
      held[static_cast<std::size_t>(virtual_stage(order, rank, ChunkId{c}))] = true;
    }
    return held;
  }

  const Problem& problem_;
  const SearchConfig& config_;
  const Estimator& estimator_;
  BoundTable& bounds_;  // is safe to use from several threads
  MemoryLimits limits_;
};

}  // namespace

FoundLayout polish_layout(const Problem& problem, const SearchConfig& config, Candidate plan,
                          KnownPrices* known) {
  KnownPrices own;
  KnownPrices& shared = known != nullptr ? *known : own;
  PlanPrices prices(problem, config.runtime,
                    shared.of(numerics_of(plan.plan), problem, config.runtime));
  return LayoutPolish(problem, config, prices).run(std::move(plan));
}

void polish_layouts(const Problem& problem, const SearchConfig& asked, SearchResult& result,
                    KnownPrices* known) {
  if (result.best.empty()) return;
  const Stopwatch clock;
  KnownPrices own;
  KnownPrices& prices = known != nullptr ? *known : own;
  SearchConfig config = asked;
  config.most_bytes = result.most_bytes;
  const std::size_t most = result.best.size();
  std::vector<Candidate> plans = std::move(result.best);
  if (config.pin<"layout">().empty()) {
    const auto spares = static_cast<std::int64_t>(result.spares.size());
    if ((result.rejected["slower"] -= spares) == 0) result.rejected.erase("slower");
    std::ranges::move(result.spares, std::back_inserter(plans));
  }
  result.spares.clear();
  std::vector<FoundLayout> found(plans.size());
  for_each_in_parallel(plans.size(), thread_count(config.threads), [&](std::size_t i) {
    found[i] = polish_layout(problem, config, std::move(plans[i]), &prices);
  });
  prices.forget_programs();
  std::ranges::stable_sort(found, {}, [&](const FoundLayout& f) {
    return value_of(f.best.estimate, config.robust);
  });
  plans.clear();
  for (const FoundLayout& f : found) plans.push_back(f.best);
  result.best = different_plans(std::move(plans), most, config.robust,
                                problem.cluster.gpu.memory.base(), result.rejected);
  result.best_of_layouts.clear();
  for (const Candidate& c : result.best) {
    const auto of = std::ranges::find_if(
        found, [&](const FoundLayout& f) { return f.best.plan == c.plan; });
    result.best_of_layouts.push_back(of->every);
  }
  if (config.pin<"layout">().empty() && !result.best_of_layouts.front()) {
    FoundLayout first = best_chunk_layout(problem, config, memory_limits(problem.cluster, config),
                                          std::move(result.best.front()));
    result.best.front() = std::move(first.best);
    result.best_of_layouts.front() = first.every;
  }
  result.bound = std::min(result.bound, value_of(result.best.front().estimate, config.robust));
  result.seconds += clock.seconds();
}

}  // namespace pleat
