// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/neighbours.hpp"

#include <algorithm>
#include <optional>

#include "core/plan/numerics.hpp"
#include "planner/layout/chunk_layouts.hpp"
#include "planner/layout/layout_polish.hpp"
#include "planner/neighbours/further_searches.hpp"
#include "planner/neighbours/list_anew.hpp"
#include "planner/neighbours/memory_sets.hpp"
#include "planner/neighbours/neighbour_descent.hpp"
#include "planner/search/plan_prices.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kSlotsOfAPrice = 2000;  // of the budget
constexpr std::int64_t kShareOfOthers = 8;     // each of the slower plans gets so much less
constexpr std::int64_t kShareOfOtherOrder = 2;  // but those with another order of the pipeline,
                                                // or other chunks or microbatches of it
constexpr std::size_t kStarts = 5;
constexpr double kHopeful = 1.05;  // slower plans are no starts
constexpr double kHopefulForPairs = 1.01;  // with state in another place
// Plans that are without something the best one has, of those that were searched for, and of those
// that the search met: so many get pairs.
constexpr int kPairsOfSearched = 3, kPairsOfMet = 1;
constexpr std::size_t kOtherPipelines = 16;
constexpr int kMostRounds = 4;
constexpr int kMostLooksAtState = 3;
// What another place of the optimizer's state must gain to be worth its complexity.
constexpr double kLeastGainOfPlace = 5e-4;

bool same_degrees(const Plan& a, const Plan& b) {
  return a.attention == b.attention && a.expert == b.expert;
}

// Whether the pipelines have the same ranks, and split work between them in other pieces. Which is
// the better one shows when each has its own layout, group of microbatches and memory choice.
bool other_pieces(const Plan& a, const Plan& b) {
  return a.attention.pp > 1 && same_degrees(a, b) &&
         (a.vpp != b.vpp || a.micro_batch != b.micro_batch);
}

class NeighbourSearch {
 public:
  NeighbourSearch(const Problem& problem, const SearchConfig& config, SearchResult& result,
                  KnownPrices& known)
      : problem_(problem),
        config_(config),
        result_(result),
        known_(known),
        prices_(problem, config_,
                known.of(numerics_of(result.best.front().plan), problem, config.runtime),
                config.neighbours, config.neighbours * kSlotsOfAPrice),
        descent_(problem, config_, prices_),
        searches_(problem, config_, prices_, known, result) {}

  void run() {
    from_listed();
    from_unlike();
    from_other_state();
    const bool faster = value(best_) < value(before_);
    bool every = false;
    if (faster && best_.plan.attention.pp > 1 && config_.pin<"layout">().empty()) {
      FoundLayout last = best_layout_of(best_);
      every = last.every;
      take(std::move(last.best));
    }
    if (faster) {  // its layout may leave more memory, or the effort for it was used up
      allow(prices_of(kShareOfOthers));
      Candidate end = descend(best_, {});
      if (value(end) < value(best_)) {
        every = false;
        take(std::move(end));
      }
    }
    tell();
    if (!found_.empty()) list_anew(problem_, config_, std::move(found_), every, result_);
  }

 private:
  [[nodiscard]] Seconds value(const Candidate& c) const {
    return value_of(c.estimate, config_.robust);
  }

  // Whether a plan is to take the place of the best one. Another place of the optimizer's state
  // must gain something.
  [[nodiscard]] bool worth(const Candidate& plan) const {
    const bool same = same_state_place(plan.plan, best_.plan);
    return value(plan) < value(best_) * (same ? 1 : 1 - kLeastGainOfPlace);
  }

  // Of one of the plans that get less.
  [[nodiscard]] std::int64_t prices_of(std::int64_t parts) const {
    return std::max<std::int64_t>(1, config_.neighbours / parts);
  }

  [[nodiscard]] Candidate faster_of(Candidate a, Candidate b) const {
    return value(b) < value(a) ? std::move(b) : std::move(a);
  }

  // From the plans of the list, and the best 1F1B pipeline. The fastest change of the first start
  // may lead to other degrees, where the steps after it gain less than beside the start's own: so
  // these are gone through by themselves, too.
  void from_listed() {
    std::vector<Candidate> starts = result_.best;
    if (std::optional<Candidate> other = searches_.one_f_one_b(before_)) {
      starts.insert(starts.begin() + 1, std::move(*other));
    }
    allow(config_.neighbours);
    bool had_pieces = false;  // one start with other pieces has had its pairs
    std::size_t best_start = 0;
    for (std::size_t i = 0; i < std::min(kStarts, starts.size()); ++i) {
      const Candidate& start = starts[i];
      if (value(start) > value(before_) * kHopeful) break;
      const bool other_order = start.plan.schedule != before_.plan.schedule;
      const bool pieces = i > 0 && !had_pieces && other_pieces(start.plan, best_.plan);
      had_pieces = had_pieces || pieces;
      const std::int64_t share = other_order || pieces ? kShareOfOtherOrder : kShareOfOthers;
      if (i > 0) allow(prices_of(share));
      Candidate end = descend(start, {.pairs = i == 0 || pieces, .other_degrees = !pieces});
      if (i == 0 && !same_degrees(end.plan, start.plan)) {
        allow(config_.neighbours);
        end = faster_of(std::move(end), descend(start, {.pairs = true, .other_degrees = false}));
      }
      if (value(end) >= value(start)) continue;
      if (value(end) < value(best_)) best_start = i;
      note(std::move(end));
    }
    if (best_start > 0) take_with_pairs(best_);  // it has not had its pairs yet
  }

  // From plans without something that the best plan of the search has.
  void from_unlike() {
    for (const bool met : {false, true}) {
      for (Candidate& end : met ? ends_of(searches_.met_unlike(before_), kPairsOfMet)
                                : ends_of(searches_.unlike(before_), kPairsOfSearched)) {
        if (worth(end)) take_with_pairs(std::move(end));
      }
    }
  }

  // From plans with other state in host memory; one share may lead to another.
  void from_other_state() {
    for (int looks = 0; looks < kMostLooksAtState; ++looks) {
      Candidate end = with_other_state(best_);
      if (!worth(end)) return;
      take(std::move(end));
      if (host_share(best_.plan) == 0) return;
    }
  }

  void take(Candidate plan) {
    best_ = std::move(plan);
    found_.push_back(best_);
  }
  void take_with_pairs(Candidate plan) {
    allow(config_.neighbours);
    take(descend(std::move(plan), {.pairs = true}));
  }
  // A plan that is to be listed, and that may be the best.
  void note(Candidate plan) {
    if (value(plan) < value(best_)) best_ = plan;
    found_.push_back(std::move(plan));
  }

  // The ends of such starts, fastest first. A start's config holds for its first changes: with all
  // of them allowed, the first one would often bring back what the start is without. Single changes
  // cost little, and tell which starts are worth pairs: only those `with_pairs` starts get them
  // whose ends are the fastest, and different.
  std::vector<Candidate> ends_of(std::vector<FurtherSearches::Unlike> starts, int with_pairs) {
    for (FurtherSearches::Unlike& start : starts) {
      allow(prices_of(kShareOfOthers));
      NeighbourDescent without(problem_, start.config, prices_);
      start.best = descend(std::move(start.best), {}, without);
    }
    std::ranges::stable_sort(starts, {}, [&](const auto& start) { return value(start.best); });
    std::vector<Candidate> ends;
    Seconds last;
    for (FurtherSearches::Unlike& start : starts) {
      const bool same = value(start.best) == last;
      last = value(start.best);
      if (same) continue;
      if (with_pairs-- > 0) {
        allow(prices_of(kShareOfOtherOrder));
        NeighbourDescent without(problem_, start.config, prices_);
        start.best = descend(std::move(start.best), {.pairs = true}, without);
      }
      allow(prices_of(kShareOfOthers));
      ends.push_back(descend(std::move(start.best), {}));
    }
    std::ranges::stable_sort(ends, {}, [&](const Candidate& c) { return value(c); });
    return ends;
  }

  // The best end of plans with other state in host memory, or `best`.
  Candidate with_other_state(const Candidate& best) {
    Candidate fastest = best;
    bool first = true;
    for (Candidate& c : searches_.with_state_in_host_memory(best)) {
      bool pairs = first;
      if (!same_state_place(c.plan, best.plan)) {  // at first it may be faster without
        allow(config_.neighbours);
        c = descend(std::move(c), {.pairs = false, .other_state = false});
        pairs = pairs && value(c) <= value(best) * kHopefulForPairs;
        if (pairs) c = descend(std::move(c), {.pairs = true, .other_state = false});
      }
      allow(first ? config_.neighbours : prices_of(kShareOfOthers));
      fastest = faster_of(std::move(fastest), descend(std::move(c), {.pairs = pairs}));
      first = false;
    }
    return fastest;
  }

  // Changes of fields and of layouts, in turn.
  Candidate descend(Candidate best, NeighbourDescent::Tries tries) {
    return descend(std::move(best), tries, descent_);
  }
  Candidate descend(Candidate best, NeighbourDescent::Tries tries, NeighbourDescent& descent) {
    for (int round = 0; round < kMostRounds; ++round) {
      const Plan before = best.plan;
      best = descent.run(std::move(best), tries);
      std::vector<Candidate> others;
      if (best.plan != before) others.push_back(best);
      for (const Plan& plan : descent.other_pipelines(best, tries.pairs ? kOtherPipelines : 0)) {
        others.push_back(prices_.candidate(plan));
      }
      std::vector<Candidate> polished(others.size());
      for_each_in_parallel(others.size(), thread_count(config_.threads), [&](std::size_t i) {
        polished[i] = polish_layout(problem_, config_, std::move(others[i]), &known_).best;
      });
      bool better = false;
      for (Candidate& c : polished) {
        if (value(c) >= value(best)) continue;
        best = std::move(c);
        better = true;
      }
      if (!better || prices_.used_up()) break;
    }
    known_.forget_programs();
    return best;
  }

  void allow(std::int64_t prices) {
    all_ = all_ && !prices_.used_up();
    prices_.allow(prices, prices * kSlotsOfAPrice);
  }

  // As the winner of a search gets it.
  [[nodiscard]] FoundLayout best_layout_of(Candidate plan) {
    FoundLayout found = polish_layout(problem_, config_, std::move(plan), &known_);
    if (found.every) return found;
    return best_chunk_layout(problem_, config_, memory_limits(problem_.cluster, config_),
                             std::move(found.best));
  }

  void tell() {
    result_.seconds += prices_.seconds();
    NeighboursTried& tried = result_.neighbours.emplace();
    tried.tried = prices_.tried();
    tried.priced = prices_.priced();
    tried.all = all_ && !prices_.used_up();
    tried.best_before = value(before_);
    result_.priced += prices_.priced();
    if (value(best_) >= value(before_)) return;
    tried.gain = 1 - value(best_) / value(before_);
    tried.differences = differences(before_.plan, best_.plan);
  }

  const Problem& problem_;
  SearchConfig config_;
  SearchResult& result_;
  KnownPrices& known_;
  Candidate before_ = result_.best.front();
  Candidate best_ = before_;
  std::vector<Candidate> found_;  // faster than what they started from
  bool all_ = true;  // no budget was used up
  NeighbourPrices prices_;
  NeighbourDescent descent_;
  FurtherSearches searches_;
};

}  // namespace

void try_neighbours(const Problem& problem, const SearchConfig& asked, SearchResult& result,
                    KnownPrices* known) {
  SearchConfig config = rest_of_limits(asked, result.seconds, result.priced);
  config.most_bytes = result.most_bytes;
  if (config.progress && !result.best.empty()) {  // each start begins above the best so far
    const Seconds found = value_of(result.best.front().estimate, config.robust);
    config.progress = [best = found, priced = std::int64_t{0},
                       all = std::move(config.progress)](SearchProgress p) mutable {
      p.best = best = std::min(best, p.best.value_or(best));
      p.priced = priced = std::max(priced, p.priced);  // further searches count by themselves
      return all(p);
    };
  }
  if (config.max_evaluations != 0) {
    const bool left = asked.max_evaluations > result.priced;
    config.neighbours = std::min(config.neighbours, left ? config.max_evaluations : 0);
  }
  const bool late = asked.time_limit > 0 && result.seconds >= asked.time_limit;
  if (result.best.empty() || config.neighbours <= 0 || late) return;
  KnownPrices own;
  NeighbourSearch(problem, config, result, known != nullptr ? *known : own).run();
}

}  // namespace pleat
