// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Best-first branch and bound over the plan tree: the nodes with the smallest bounds first, in
// rounds of a fixed size, and some of every depth, so that there are plans early. The search ends
// when no bound is below the K-th best estimate, so the answer is that of pricing every plan.
// Rounds are merged in order: the number of threads changes nothing.
#include "planner/search/fixed_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <unordered_map>

#include "core/diagnostics.hpp"
#include "core/stopwatch.hpp"
#include "planner/search/best_list.hpp"
#include "planner/search/fallback_by_memory.hpp"
#include "planner/search/good_plans.hpp"
#include "planner/search/list_good.hpp"
#include "planner/search/met_plans.hpp"
#include "planner/search/nearest_plans.hpp"
#include "planner/search/node_opener.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search/waiting_nodes.hpp"
#include "planner/space/not_tried.hpp"

namespace pleat {
namespace {

constexpr std::size_t kRound = 128;  // nodes opened per round
constexpr std::size_t kDiving = 8;   // of them of each depth, in rounds that dive
constexpr int kDivingRounds = 256, kDiveEvery = 16;  // the first rounds dive, later every so many
// Rounds after which the search looks for good plans, and looks closer unless the smallest bound is
// so near to the best plan: it will end soon.
constexpr int kLookRound = 32, kCloserRound = 96;
constexpr double kFarFromEnd = 0.9;
constexpr int kFirstRounds = 256;  // for the grids of good plans
constexpr std::size_t kMoreLooked = 3;  // meshes, beside as many as are listed
constexpr std::size_t kSearchedFirst = 3;  // good plans' grids
constexpr std::size_t kGridsAtOnce = 1024;   // bounded between two checks of the limits
constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

}  // namespace

class FixedSearch::Search {
 public:
  Search(const Problem& problem, const SearchConfig& config, PlanPrices* known)
      : config_(config),
        workers_(thread_count(config.threads)),
        tree_(problem, config),
        usable_(usable_bytes(problem.cluster, config)),
        own_(known != nullptr ? nullptr
                              : std::make_unique<PlanPrices>(problem, config.runtime)),
        opener_(tree_, known != nullptr ? *known : *own_, problem.cluster, usable_),
        good_(tree_, opener_, workers_, usable_,
              static_cast<std::size_t>(listed_plans(config)) + kMoreLooked),
        best_(tree_, problem.cluster.gpu.memory.base()),
        met_(tree_),
        waiting_(tree_) {
    result_.certain = listed_plans(config);
    if (known != nullptr) known->bounds.forget_exchanges();
  }

  // Returns false if a limit came first; then no mesh counts as bounded.
  bool bound_meshes() {
    if (!bounded_) {
      clock_ = {};
      bounded_ = bound_all();
    }
    return bounded_;
  }

  [[nodiscard]] Seconds least() const { return bounded_ ? least_ : Seconds{}; }

  SearchResult run() {
    clock_ = {};
    for (const auto& [rule, meshes] : tree_.space.rejected) {
      result_.rejected[rule] += meshes * tree_.plans_of_mesh();
    }
    result_.enumerated = tree_.space.tried * tree_.plans_of_mesh();
    if (!bounded_ && !(bounded_ = bound_all())) {
      result_.optimal = false;
      count("not-reached",
            static_cast<std::int64_t>(tree_.space.meshes.size()) * tree_.plans_of_mesh());
    }
    while (bounded_) {
      std::vector<Open> round = next_round();
      if (waiting_.holds_some() && (round.empty() || rounds_ >= held_until_)) {
        for (const Open& open : round) waiting_.push(open);
        waiting_.release(cutoff());
        round = next_round();
      }
      if (round.empty()) break;
      if (const Seconds least = least_left(round); limit_passed(least)) {
        leave(least);
        for (const Open& open : round) count("not-reached", tree_.plans_of(open.node));
        break;
      }
      open_round(round);
      if (++rounds_ == kLookRound) use_good();
      if (rounds_ == kCloserRound && waiting_.least() < cutoff() * kFarFromEnd) use_better();
    }
    if (!result_.optimal && best_.empty()) {
      fall_back();
      good_count_ = true;
    }
    waiting_.for_each(cutoff(), [&](const Node& node, bool above) {
      count(above ? "time-bound" : "not-reached", tree_.plans_of(node));
    });
    BestList::Taken taken = best_.take();
    for (const char* reason : taken.others) count(reason, 1);
    for (const auto& [rule, plans] : counted_) result_.rejected[rule] += plans;
    result_.best = std::move(taken.best);
    result_.spares = std::move(taken.spares);
    if (good_count_) {
      for (const GoodPlan& good : good_.found()) met_.enter(good.node, {}, good.estimate);
    }
    result_.met = met_.at_most(kHopefulMet);
    result_.stage_ways = tree_.stage_ways();
    if (good_count_ && !result_.optimal && any_) {
      list_first(result_, tree_, std::move(*any_));
    } else if (good_count_ && result_.optimal && result_.certain < listed_plans(config_)) {
      list_beside(result_, tree_, good_.found());
    }
    result_.robust = config_.robust;
    result_.not_tried = not_tried(tree_.problem.model, tree_.problem.cluster, config_);
    result_.most_bytes = config_.most_bytes;
    if (!result_.best.empty()) {
      const Seconds value = value_of(result_.best.front().estimate, config_.robust);
      result_.bound = result_.optimal ? value : std::min(value, result_.bound);
    } else if (result_.optimal && config_.tells_nearest && std::isinf(config_.not_above.base())) {
      result_.nearest = nearest_.find(opener_, workers_);
    }
    if (good_count_) result_.fallback_priced = any_priced_ + good_.priced();
    result_.seconds = clock_.seconds();
    return std::move(result_);
  }

 private:
  bool bound_all() {
    std::vector<Node> grids = tree_.grids();
    for (std::size_t done = 0; done < grids.size(); done += kGridsAtOnce) {
      if (limit_passed({})) return false;
      workers_.for_each(std::min(kGridsAtOnce, grids.size() - done), [&](std::size_t i) {
        grids[done + i].bound = opener_.bounds().grid(grids[done + i]);
      });
    }
    for (const Node& grid : grids) waiting_.push(grid, cutoff());
    least_ = waiting_.least_not_held();
    return true;
  }

  // Takes the nodes with the smallest bounds that can still enter the list, for one round.
  std::vector<Open> next_round() {
    std::vector<Open> round;
    const Seconds cutoff = this->cutoff();
    waiting_.take_back(cutoff);
    Frontier& open = waiting_.open();
    std::int64_t left = evaluations_left();
    const auto take = [&](const Open& next) {
      if (const char* reason = best_.superseded(next.node, next.least)) {
        count(reason, tree_.plans_of(next.node));
      } else {
        round.push_back(next);
        if (is_priced(next.node)) left -= next.node.meshes;
      }
    };
    if (dives()) {
      for (std::size_t depth = Frontier::kDepths; depth-- > 0;) {
        for (std::size_t i = 0; i < kDiving && !open.empty(depth); ++i) {
          const Open next = open.top(depth);
          if (next.least > cutoff || (is_priced(next.node) && left <= 0)) break;
          open.pop(depth);
          take(next);
        }
      }
    }
    while (!open.empty() && open.top().least <= cutoff && round.size() < kRound) {
      const Open next = open.top();
      if (is_priced(next.node) && left <= 0) break;
      open.pop();
      take(next);
    }
    return round;
  }

  // The smallest bound of what is not opened yet, and of a round.
  [[nodiscard]] Seconds least_left(const std::vector<Open>& round) const {
    return std::min(std::ranges::min_element(round, {}, &Open::least)->least, waiting_.least());
  }

  static bool is_priced(const Node& node) {
    return node.level == Level::setting && node.stage == kBounded;
  }

  // Whether a round takes nodes of every depth, so that plans are priced long before all nodes with
  // smaller bounds have been opened. Bounds are tighter once there are plans to compare with.
  [[nodiscard]] bool dives() const { return rounds_ < kDivingRounds || rounds_ % kDiveEvery == 0; }

  // At least one node, because limits are checked after a round.
  [[nodiscard]] std::int64_t evaluations_left() const {
    if (config_.max_evaluations == 0) return std::numeric_limits<std::int64_t>::max();
    return std::max<std::int64_t>(1, config_.max_evaluations - estimates());
  }

  // A choice that is compiled for the stages of a pipeline takes about as long as a plan.
  [[nodiscard]] std::int64_t estimates() const { return result_.priced + stage_choices_; }

  bool limit_passed(Seconds bound) {
    const double seconds = clock_.seconds();
    if (config_.time_limit > 0 && seconds > config_.time_limit) return good_count_ = true;
    if (config_.max_evaluations != 0 && estimates() >= config_.max_evaluations) return true;
    if (config_.max_rounds > 0 && rounds_ >= config_.max_rounds) return true;
    if (!config_.progress) return false;
    if (seconds > config_.patience && best_.empty()) fall_back();  // something to show
    SearchProgress now{.priced = result_.priced, .seconds = seconds, .best = {}, .bound = bound};
    if (!best_.empty()) now.best = value_of(best_.best().estimate, config_.robust);
    if (any_) {
      const Seconds any = value_of(any_->estimate, config_.robust);
      now.best = now.best ? std::min(*now.best, any) : any;
    }
    if (config_.progress(now)) return false;
    return good_count_ = true;
  }

  void open_round(const std::vector<Open>& round) {
    std::vector<Opened> opened(round.size());
    const Seconds cutoff = this->cutoff();
    // Nodes of one mesh share layers: sorted so that one thread prices these for all.
    std::vector<std::size_t> order(round.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return round[i].node.mesh; });
    workers_.for_each(round.size(), [&](std::size_t at) {
      const std::size_t i = order[at];
      const Node& node = round[i].node;
      // Rounded up, so that a plan as good as the cutoff is kept.
      const double weight = tree_.weight(node);
      opened[i] = opener_.open(node, weight == 1 ? cutoff : cutoff / weight * (1 + 1e-12));
    });
    opener_.forget_layers();
    for (std::size_t i = 0; i < round.size(); ++i) {
      Opened& o = opened[i];
      const Node& node = round[i].node;
      for (const Rejection& r : o.rejected) count(r.rule, r.plans);
      for (const Node& child : o.children) waiting_.push(child, cutoff);
      stage_choices_ += o.stage_choices;
      if (o.cut) leave(node.bound * tree_.weight(node));
      if (o.least_peak > 0) remember_near(node.mesh, o.least_peak);
      for (const auto& [mesh, bytes] : o.too_large) remember_near(mesh, bytes);
      for (Priced& priced : o.priced) {
        ++result_.priced;
        if (!priced.fits) continue;
        met_.enter(priced.node, priced.stages, priced.estimate);
        for (const char* reason :
             best_.enter(priced.node, std::move(priced.stages), std::move(priced.estimate))) {
          count(reason, 1);
        }
      }
    }
  }

  // A plan with this value may have been left out: the certificate goes no higher.
  void leave(Seconds bound) {
    result_.bound = result_.optimal ? bound : std::min(result_.bound, bound);
    result_.optimal = false;
  }

  // The largest value with which a plan can still be listed. The best plan of each mesh is listed
  // unless the list is full of better ones, so it holds no plan that is slower than the good ones
  // of as many meshes.
  [[nodiscard]] Seconds cutoff() const { return std::min(best_.cutoff(), good_cutoff_); }

  // What it finds does not depend on what the search has done.
  void look_for_good() {
    if (looked_for_good_) return;
    looked_for_good_ = true;
    good_.look();
    note_good();
  }

  void note_good() {
    const std::vector<GoodPlan>& good = good_.found();
    if (good.empty() || value_of(good.front().estimate, config_.robust) > config_.not_above) return;
    any_ = Candidate{tree_.plan_of(good.front().node), good.front().estimate};
  }

  void use_good() {
    result_.certain = certain_plans(config_);
    best_.be_certain_of(result_.certain);
    look_for_good();
    good_count_ = true;
    search_first(good_.found());
  }

  void use_better() {
    waiting_.release(cutoff());
    good_.look_closer([this] { return !limit_passed({}); });
    note_good();
    search_first(good_.found());
  }

  // The grids of the first good plans are searched before the others, which leaves fewer of these
  // to be opened.
  void search_first(const std::vector<GoodPlan>& good) {
    if (good.empty()) return;
    const auto certain = static_cast<std::size_t>(result_.certain);
    if (good.size() >= certain) {
      good_cutoff_ = value_of(good[certain - 1].estimate, config_.robust);
    }
    hold_all_but(good);
    held_until_ = rounds_ + kFirstRounds;
  }

  void hold_all_but(const std::vector<GoodPlan>& good) {
    waiting_.hold_all_but([&](const Node& node) {
      return std::ranges::any_of(good | std::views::take(kSearchedFirst), [&](const GoodPlan& g) {
        const Mesh &a = tree_.mesh_of(node), &b = tree_.mesh_of(g.node);
        return a.attention == b.attention && a.expert == b.expert && a.schedule == b.schedule &&
               a.micro_batch == b.micro_batch;
      });
    });
  }

  // Finds some plan that fits, for when a limit comes before the search has one.
  void fall_back() {
    look_for_good();
    if (any_ || looked_for_any_) return;
    looked_for_any_ = true;
    any_ = fallback_by_memory(tree_, opener_, workers_, usable_, any_priced_);
    if (any_ && value_of(any_->estimate, config_.robust) > config_.not_above) any_.reset();
  }

  // For when nothing fits.
  void remember_near(std::int32_t mesh, std::int64_t peak) {
    if (best_.empty()) nearest_.remember(tree_, mesh, peak);
  }

  void count(const char* rule, std::int64_t plans) { counted_[rule] += plans; }

  const SearchConfig& config_;
  Workers workers_;
  Stopwatch clock_;
  PlanTree tree_;
  std::int64_t usable_;  // bytes of a GPU
  std::unique_ptr<PlanPrices> own_;  // null: shared with other searches
  NodeOpener opener_;
  GoodPlans good_;
  BestList best_;
  MetPlans met_;
  WaitingNodes waiting_;
  int held_until_ = 0;  // this round, unless what is not held has been searched before
  std::unordered_map<const char*, std::int64_t>
      counted_;                            // by rule; equal names may have several addresses
  NearestPlans nearest_;
  int rounds_ = 0;
  std::int64_t stage_choices_ = 0;  // compiled for the stages of pipelines
  bool bounded_ = false;  // the meshes have bounds
  Seconds least_ = kNever;  // the smallest of these
  bool looked_for_good_ = false, looked_for_any_ = false;
  // Good plans are a part of the result. What was looked for only to show progress is none, unless
  // the clock or the user ends the search: else the result would depend on how fast the machine is.
  bool good_count_ = false;
  Seconds good_cutoff_ = kNever;
  std::optional<Candidate> any_;  // a good plan, or one that fits, before the search has found it
  std::int64_t any_priced_ = 0;   // to find one that fits
  SearchResult result_;
};

FixedSearch::FixedSearch(const Problem& problem, const SearchConfig& config, PlanPrices* known)
    : search_(std::make_unique<Search>(problem, config, known)) {
  PLEAT_ASSERT(config.numerics.size() == 1);
}
FixedSearch::~FixedSearch() = default;

void FixedSearch::bound_meshes() { static_cast<void>(search_->bound_meshes()); }
Seconds FixedSearch::least() const { return search_->least(); }
SearchResult FixedSearch::run() { return search_->run(); }

}  // namespace pleat
