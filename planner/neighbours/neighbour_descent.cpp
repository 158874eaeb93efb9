// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/neighbour_descent.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "core/plan/plan_table.hpp"
#include "planner/layout/lighter_layouts.hpp"
#include "planner/neighbours/allowed_values.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/placement_choices.hpp"

namespace pleat {
namespace {

constexpr double kLeastGain = 1e-4;      // a step that gains less is none
constexpr double kFarSlower = 1.25;      // what is slower by more is of no use in a pair
constexpr int kMostDescents = 64;
constexpr std::size_t kMended = 12;  // faster plans for which memory is looked for
constexpr int kMemoryChanges = 3;    // at most, for one of them
constexpr std::size_t kSlowPairs = 200;
constexpr std::size_t kExchanges = 150;
constexpr double kLeastSaved = 0.002;   // of a GPU's memory; what saves less lets nothing else fit
constexpr std::size_t kSavers = 12;     // changes that save memory
constexpr std::size_t kSetsOfSaver = 24, kSetsOfPipeline = 12, kSetsOfLayout = 8;
constexpr std::size_t kMemorySets = 128;  // of those with the smallest bounds
constexpr int kMostLooks = 3;             // at all of them, one after the other
// Of the optimizer's state in one place of host memory, beside as little as fits in the other.
constexpr double kSharesBesideAnother[] = {0.125, 0.25, 0.375, 0.5, 0.625, 0.75};
// Of the share that the plan has.
constexpr double kSmallerShares[] = {0.75, 0.5, 0.25, 0};
constexpr std::size_t kSetsOfShare = 6;

// Shares of the optimizer's state in host memory: between steps alone, and stepped there.
constexpr auto kComesBack =
    static_cast<std::uint8_t>(kPlanRow<&Plan::optimizer, &OptimizerPlan::state_offload>);
constexpr auto kStepped =
    static_cast<std::uint8_t>(kPlanRow<&Plan::optimizer, &OptimizerPlan::cpu_offload>);

bool is_of_state(const PlanChange& change) {
  return change.row == kComesBack || change.row == kStepped;
}

bool is_of_placement(const PlanChange& change) {
  return change.row == kPlanRow<&Plan::expert, &ExpertMapping::placement> ||
         change.row == kPlanRow<&Plan::expert, &ExpertMapping::redundant>;
}

}  // namespace

NeighbourDescent::NeighbourDescent(const Problem& problem, const SearchConfig& config,
                                   NeighbourPrices& prices)
    : problem_(problem),
      config_(config),
      legal_(problem, config),
      memory_(problem, config),
      prices_(prices),
      numbers_(whole_numbers_of(problem, config.gpus)),
      by_stage_(by_stage(config)),
      places_experts_(may_place_experts(problem, config)) {}

Candidate NeighbourDescent::run(Candidate start, Tries tries) {
  other_degrees_ = tries.other_degrees;
  other_state_ = tries.other_state;
  best_ = std::move(start);
  value_ = value_of(best_.estimate, config_.robust);
  for (int steps = 0; steps < kMostDescents && !prices_.used_up(); ++steps) {
    find_singles();
    const std::vector<PlanChange> faster = gains();
    if (step()) {
      repeat_gains(faster);
      continue;
    }
    if (prices_.used_up()) break;
    if (gives_up_memory(best_.plan)) {
      if (find_memory_sets()) continue;
      find_sets_beside_layouts();
      if (step()) continue;
      find_sets_beside_smaller_shares();
    } else {
      find_wider();
    }
    if (step()) continue;
    if (!tries.pairs || prices_.used_up() || !try_pairs()) break;
  }
  return std::move(best_);
}

// Adds the plan with these changes, if it is legal.
bool NeighbourDescent::add(const PlanChange& first, const PlanChange* second) {
  Neighbour& n = plans_.emplace_back();
  n.plan = best_.plan;
  bool allowed = legal_.change(best_.plan, first, n.plan) || second != nullptr;
  if (second != nullptr) allowed = legal_.change(best_.plan, *second, n.plan);
  for (const PlanChange* c : {&first, second}) {
    if (c != nullptr && is_least_share(*c)) n.least_share = c->row;
  }
  if (allowed && n.plan != best_.plan && legal_.legal(n.plan)) return true;
  plans_.pop_back();
  return false;
}

// Adds the first change together with what its rule asked for, and the second one beside it.
bool NeighbourDescent::add_to_mended(const Single& first, const Single& second) {
  if (first.mended < 0) return false;
  Plan plan = plans_[static_cast<std::size_t>(first.mended)].plan;
  if (!legal_.change(best_.plan, second.change, plan) || !legal_.legal(plan)) return false;
  plans_.emplace_back().plan = std::move(plan);
  return true;
}

void NeighbourDescent::find_singles() {
  singles_.clear();
  plans_.clear();
  for (const PlanChange& change : changes_of(best_.plan, by_stage_, numbers_)) {
    if (!other_degrees_ && is_of_degrees(change)) continue;
    if (!other_state_ && is_of_state(change)) continue;
    if (!places_experts_ && is_of_placement(change)) continue;
    Single single{change};
    if (add(change, nullptr)) {
      single.at = static_cast<int>(plans_.size()) - 1;
    } else {
      Plan plan = best_.plan;
      if (!legal_.change(best_.plan, change, plan) || plan == best_.plan) {
        if (is_near(change, best_.plan)) singles_.push_back(single);
        continue;
      }
      if (std::optional<Plan> mended = legal_.cured(plan, change.row)) {
        Neighbour& n = plans_.emplace_back();
        n.plan = std::move(*mended);
        if (is_least_share(change)) n.least_share = change.row;
        single.mended = static_cast<int>(plans_.size()) - 1;
      }
    }
    singles_.push_back(single);
  }
  price_all(0, value_ * kFarSlower);
}

void NeighbourDescent::find_wider() {
  const std::size_t first = plans_.size();
  for (const PlanChange& change : wider_changes_of_sets(best_.plan)) add(change, nullptr);
  price_all(first, value_);
}

// Goes on from the fastest plan found, whose own peak tells better what else fits. Returns whether
// a faster plan was found.
bool NeighbourDescent::find_memory_sets() {
  int looks = 0;
  do {
    const std::size_t first = plans_.size();
    for (Plan& plan : memory_.hopeful(best_, value_, prices_, kMemorySets)) {
      if (plan == best_.plan || !allows(problem_, config_, plan) || !legal_.legal(plan)) continue;
      plans_.emplace_back().plan = std::move(plan);
    }
    price_all(first, value_);
  } while (step() && ++looks < kMostLooks);
  return looks > 0;
}

// A layout that saves memory may let the plan give up less than now.
void NeighbourDescent::find_sets_beside_layouts() {
  if (!config_.pin<"layout">().empty()) return;
  std::vector<Neighbour> lighter;
  for (Plan& plan : lighter_layouts(problem_, best_)) {
    if (legal_.legal(plan)) lighter.emplace_back().plan = std::move(plan);
  }
  prices_.price(lighter, 0, value_ * kHopefulLayout, value_);
  std::vector<const Neighbour*> savers;
  for (const Neighbour& n : lighter) {
    const bool saves = n.peak <= best_.estimate.peak_bytes() - least_saved();
    if (!n.bounded && n.fits && saves) savers.push_back(&n);
  }
  find_sets_beside(std::move(savers), value_, kSetsOfLayout);
}

void NeighbourDescent::price_all(std::size_t first, Seconds cutoff) {
  prices_.price(plans_, first, cutoff, value_);
  for (Single& s : singles_) {
    for (int* at : {&s.at, &s.mended}) {
      if (*at >= static_cast<int>(plans_.size())) *at = -1;  // the budget ended before it
    }
  }
  pipelines_.add(plans_, best_.plan, value_);
}

bool NeighbourDescent::step() {
  const Neighbour* fastest = nullptr;
  for (const Neighbour& n : plans_) {
    if (n.bounded || !n.fits || n.value >= value_ * (1 - kLeastGain)) continue;
    if (fastest == nullptr || n.value < fastest->value) fastest = &n;
  }
  if (fastest == nullptr) return false;
  best_ = prices_.candidate(fastest->plan);
  value_ = value_of(best_.estimate, config_.robust);
  return true;
}

std::vector<PlanChange> NeighbourDescent::gains() const {
  std::vector<PlanChange> list;
  for (const Single& s : singles_) {
    if (s.at < 0) continue;
    const Neighbour& n = plans_[static_cast<std::size_t>(s.at)];
    if (!n.bounded && n.value < value_) list.push_back(s.change);
  }
  return list;
}

// What was faster beside the plan before is tried on beside the new one, before all changes are.
void NeighbourDescent::repeat_gains(const std::vector<PlanChange>& gains) {
  do {
    singles_.clear();
    plans_.clear();
    for (const PlanChange& change : gains) add(change, nullptr);
    price_all(0, value_);
  } while (step());
}

bool NeighbourDescent::try_pairs() {
  const std::vector<Neighbour> alone = plans_;
  find_both_shares();
  if (step()) return true;
  find_mended();
  if (step()) return true;
  if (mend_fastest(alone, 0)) return true;
  find_sets_beside_savers();
  if (step()) return true;
  find_sets_of_pipelines(alone);
  if (step()) return true;
  const std::size_t exchanges = plans_.size();
  find_exchanges();
  if (step()) return true;
  find_sets_of_pipelines({plans_.begin() + static_cast<std::ptrdiff_t>(exchanges), plans_.end()});
  if (step()) return true;
  const std::size_t first = plans_.size();
  find_slow_pairs();
  return step() || mend_fastest(std::vector<Neighbour>(plans_), first);
}

std::int64_t NeighbourDescent::least_saved() const {
  return static_cast<std::int64_t>(kLeastSaved * static_cast<double>(prices_.usable()));
}

bool NeighbourDescent::mend_fastest(const std::vector<Neighbour>& plans, std::size_t first) {
  std::vector<const Neighbour*> faster;
  for (std::size_t i = first; i < plans.size(); ++i) {
    const Neighbour& n = plans[i];
    if (!n.bounded && !n.fits && n.value < value_ * (1 - kLeastGain)) faster.push_back(&n);
  }
  std::ranges::stable_sort(faster, {}, [](const Neighbour* n) { return n->value; });
  if (faster.size() > kMended) faster.resize(kMended);
  const std::size_t before = plans_.size();
  for (const Neighbour* n : faster) mend_memory(n->plan, n->over, n->value);
  return plans_.size() > before && step();
}

// What a change saves may let the plan give up less than now.
void NeighbourDescent::find_sets_beside_savers() {
  if (!gives_up_memory(best_.plan)) return;
  std::vector<const Neighbour*> savers;
  for (const Single& s : singles_) {
    const int at = std::max(s.at, s.mended);
    if (at < 0 || !is_near(s.change, best_.plan)) continue;
    const Neighbour& n = plans_[static_cast<std::size_t>(at)];
    if (n.bounded || !n.fits || n.peak > best_.estimate.peak_bytes() - least_saved()) continue;
    if (same_memory_choice(n.plan, best_.plan)) savers.push_back(&n);
  }
  find_sets_beside(std::move(savers), value_, kSetsOfSaver);
}

// Other pipelines that do not fit with what is given up now, and those that fit with less. One that
// is a little slower may be the fastest with another layout.
void NeighbourDescent::find_sets_of_pipelines(const std::vector<Neighbour>& changed) {
  // `with_layouts`: those that a better layout may still make faster.
  std::vector<const Neighbour*> with_layouts, others;
  for (const Neighbour& n : changed) {
    const bool layouts = n.plan.attention.pp > 1 && other_degrees_;
    const Seconds than = layouts ? value_ * kHopefulLayout : value_;
    const bool saves =
        gives_up_memory(n.plan) && n.peak < best_.estimate.peak_bytes() - least_saved();
    if (n.bounded || (n.fits ? !saves : n.value >= than)) continue;
    const bool same = same_pipeline(n.plan, best_.plan) && n.plan.expert == best_.plan.expert;
    if (!same && same_memory_choice(n.plan, best_.plan)) {
      (layouts ? with_layouts : others).push_back(&n);
    }
  }
  find_sets_beside(std::move(with_layouts), value_ * kHopefulLayout, kSetsOfPipeline);
  find_sets_beside(std::move(others), value_, kSetsOfPipeline);
}

void NeighbourDescent::find_sets_beside(std::vector<const Neighbour*> changed, Seconds than,
                                        std::size_t sets) {
  std::ranges::stable_sort(changed, {}, [](const Neighbour* n) { return n->value; });
  if (changed.size() > kSavers) changed.resize(kSavers);
  std::vector<Neighbour> found;
  for (const Neighbour* n : changed) {
    const Candidate with_change = prices_.candidate(n->plan);
    for (Plan& plan : memory_.hopeful(with_change, than, prices_, sets)) {
      if (!allows(problem_, config_, plan) || !legal_.legal(plan)) continue;
      found.emplace_back().plan = std::move(plan);
    }
  }
  const std::size_t first = plans_.size();
  std::ranges::move(found, std::back_inserter(plans_));
  price_all(first, than);
}

// Some of the optimizer's state is stepped on the CPU, and as much as is needed beside it comes
// back to the GPU for the step; or the other way round.
void NeighbourDescent::find_both_shares() {
  if (!other_state_ || host_share(best_.plan) == 0) return;
  const std::size_t first = plans_.size();
  for (const auto& [fixed, least] : {std::pair{kStepped, kComesBack}, {kComesBack, kStepped}}) {
    for (const double share : kSharesBesideAnother) {
      Neighbour n;
      n.plan = best_.plan;
      n.least_share = least;
      const auto change = [&](std::uint8_t row, double value) {
        return legal_.change(best_.plan, {row, -1, value}, n.plan);
      };
      change(least, 0);
      if (!change(fixed, share) || !change(least, 1 - share)) continue;
      if (legal_.legal(n.plan)) plans_.push_back(std::move(n));
    }
  }
  price_all(first, value_);
  // The least share that fits may be more than the other one leaves.
  for (Neighbour& n : plans_ | std::views::drop(first)) n.fits = n.fits && legal_.legal(n.plan);
}

// A smaller share of the optimizer's state in host memory does not fit by itself. Looks for memory
// choices that fit with it; beside each of them as little of the state as fits goes there.
void NeighbourDescent::find_sets_beside_smaller_shares() {
  if (!other_state_) return;
  const OptimizerPlan& now = best_.plan.optimizer;
  const std::size_t first = plans_.size();
  for (const auto& [row, share] :
       {std::pair{kStepped, now.cpu_offload}, {kComesBack, now.state_offload}}) {
    Plan with_any_share = best_.plan;  // a pinned share may not become smaller
    if (share == 0 || !legal_.change(best_.plan, {row, -1, kLeastShare}, with_any_share)) continue;
    for (const double times : kSmallerShares) {
      Plan less = best_.plan;
      if (!legal_.change(best_.plan, {row, -1, times * share}, less)) continue;
      for (Plan& plan :
           memory_.hopeful(prices_.candidate(less), value_, prices_, kSetsOfShare)) {
        if (!allows(problem_, config_, plan) || !legal_.legal(plan)) continue;
        Neighbour& n = plans_.emplace_back();
        n.plan = std::move(plan);
        n.least_share = row;
      }
    }
  }
  price_all(first, value_);
  for (Neighbour& n : plans_ | std::views::drop(first)) n.fits = n.fits && legal_.legal(n.plan);
}

void NeighbourDescent::find_mended() {
  const std::size_t first = plans_.size();
  for (const Single& a : singles_) {
    if (a.at >= 0 || !is_near(a.change, best_.plan)) continue;
    for (const Single& b : singles_) {
      if (a.change.row == b.change.row || !is_near(b.change, best_.plan)) continue;
      add(a.change, &b.change);
    }
  }
  price_all(first, value_);
}

// Adds the changes that save most bytes for the time they cost, until the plan fits.
void NeighbourDescent::mend_memory(const Plan& from, std::int64_t over, Seconds value) {
  Plan plan = from;
  const std::int64_t own_peak = best_.estimate.peak_bytes();
  for (int changes = 0; changes < kMemoryChanges; ++changes) {
    std::vector<Neighbour> list;
    for (const Single& s : singles_) {
      if (!is_near(s.change, best_.plan)) continue;
      if (s.at >= 0 && !is_least_share(s.change)) {  // what breaks a rule alone may not here
        const Neighbour& alone = plans_[static_cast<std::size_t>(s.at)];
        if (alone.bounded || alone.peak >= own_peak) continue;
      }
      Neighbour n;
      n.plan = plan;
      if (!legal_.change(plan, s.change, n.plan) || n.plan == plan || !legal_.legal(n.plan))
        continue;
      if (is_least_share(s.change)) n.least_share = s.change.row;
      list.push_back(std::move(n));
    }
    prices_.price(list, 0, value_, value_);
    const Neighbour* next = nullptr;
    double most = 0;
    bool found = false;
    for (const Neighbour& n : list) {
      if (n.bounded || n.value >= value_) continue;
      if (n.fits) {
        plans_.push_back(n);
        found = true;
      }
      const double cost = std::max(n.value - value, value_ * 1e-5) / value_;
      const double saved = static_cast<double>(over - n.over) / cost;
      if (saved > most) {
        most = saved;
        next = &n;
      }
    }
    if (found || next == nullptr) return;
    over = next->over;
    value = next->value;
    plan = next->plan;
  }
}

// For example half the CP beside half the microbatch, or a larger group of experts with another
// dispatcher. Alone each is far slower.
void NeighbourDescent::find_exchanges() {
  if (!other_degrees_) return;
  const auto microbatches = [&](const Plan& plan) {
    return plan.microbatches(problem_.workload.global_batch);
  };
  const auto is_size = [&](const PlanChange& c) {
    return is_near(c, best_.plan) && (is_of_degrees(c) || c.row == kPlanRow<&Plan::micro_batch>);
  };
  const auto is_dispatcher = [](const PlanChange& c) {
    return c.row == kPlanRow<&Plan::dispatcher>;
  };
  const std::size_t first = plans_.size();
  for (std::size_t i = 0; i < singles_.size(); ++i) {
    for (std::size_t j = i + 1; is_size(singles_[i].change) && j < singles_.size(); ++j) {
      const PlanChange &a = singles_[i].change, &b = singles_[j].change;
      const bool exchange = is_size(b) || is_dispatcher(b);
      if (a.row == b.row || !exchange || plans_.size() - first == kExchanges) continue;
      if (add(a, &b) && microbatches(plans_.back().plan) != microbatches(best_.plan)) {
        plans_.pop_back();
      }
    }
  }
  price_all(first, value_);
}

void NeighbourDescent::find_slow_pairs() {
  struct Pair {
    Seconds value;
    const Single *a, *b;
  };
  const auto answer = [&](const Single& s) -> const Neighbour* {
    const int at = std::max(s.at, s.mended);
    if (at < 0 || !is_near(s.change, best_.plan)) return nullptr;
    const Neighbour& n = plans_[static_cast<std::size_t>(at)];
    return n.bounded ? nullptr : &n;
  };
  const std::int64_t own_peak = best_.estimate.peak_bytes();
  const auto changes_nothing = [&](const Neighbour& n) {
    return n.value == value_ && n.peak == own_peak;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < singles_.size(); ++i) {
    const Neighbour* a = answer(singles_[i]);
    for (std::size_t j = i + 1; a != nullptr && j < singles_.size(); ++j) {
      const Neighbour* b = answer(singles_[j]);
      if (b == nullptr || singles_[i].change.row == singles_[j].change.row) continue;
      // What does nothing alone may do something on another mesh.
      if (changes_nothing(*a) && !is_of_degrees(singles_[j].change)) continue;
      if (changes_nothing(*b) && !is_of_degrees(singles_[i].change)) continue;
      pairs.push_back({a->value + b->value - value_, &singles_[i], &singles_[j]});
    }
  }
  std::ranges::stable_sort(pairs, {}, &Pair::value);
  const std::size_t first = plans_.size();
  for (const Pair& pair : pairs) {
    if (plans_.size() - first == kSlowPairs) break;
    if (add(pair.a->change, &pair.b->change)) continue;
    if (!add_to_mended(*pair.a, *pair.b)) add_to_mended(*pair.b, *pair.a);
  }
  price_all(first, value_);
}

std::vector<Plan> NeighbourDescent::other_pipelines(const Candidate& best, std::size_t most) {
  return pipelines_.take(best.plan, value_of(best.estimate, config_.robust), most);
}

}  // namespace pleat
