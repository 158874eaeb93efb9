// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A search for each number format, and one list of the best plans: a plan found with one format
// lets the searches for the others stop earlier. Where formats are free, what the best plans would
// gain from others says which ones to search next.
#include "planner/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>

#include "core/diagnostics.hpp"
#include "core/stopwatch.hpp"
#include "planner/search/different_plans.hpp"
#include "planner/search/fixed_search.hpp"
#include "planner/search/nearest_plans.hpp"
#include "planner/search/numerics_prices.hpp"
#include "planner/space/numerics_rules.hpp"

namespace pleat {
namespace {

constexpr int kSettleRounds = 3;  // of formats that the best plans ask for

class SearchOverNumerics {
 public:
  SearchOverNumerics(const Problem& problem, const SearchConfig& config, KnownPrices* known)
      : problem_(problem), config_(config), known_(known), numerics_(config.numerics) {
    all_.robust = config.robust;
    all_.most_bytes = config.most_bytes;
    all_.bound = config.not_above;
    all_.certain = listed_plans(config);
  }

  // The meshes of all formats are bounded first, so that an interrupted search has a bound for all.
  // Formats are searched from the last to the first, because they are mostly listed from slow to
  // fast.
  SearchResult run() {
    for (std::size_t i = numerics_.size(); i-- > 0;) prepare(i);
    for (std::size_t i = numerics_.size(); i-- > 0;) {
      if (!of_[i].search) continue;  // no valid plan with these numerics
      if (stop_now()) leave_out(i);
      else add(i);
    }
    if (!any_) std::rethrow_exception(why_);
    if (!config_.free_numerics.empty()) settle();
    for (Entry& e : best_) all_.best.push_back(std::move(e.candidate));
    choose_spares();
    if (!all_.best.empty()) {
      all_.nearest.clear();
      const Seconds best = value_of(all_.best.front().estimate, config_.robust);
      all_.bound = all_.optimal ? best : std::min(all_.bound, best);
    }
    all_.seconds = seconds();
    std::ranges::move(left_out_, std::back_inserter(all_.not_tried));
    return std::move(all_);
  }

 private:
  struct Entry {
    std::size_t numerics;
    Candidate candidate;
  };
  struct OfNumerics {
    SearchConfig config;
    std::unique_ptr<FixedSearch> search;
  };

  [[nodiscard]] double seconds() const {
    return clock_.seconds();
  }

  void prepare(std::size_t i) {
    OfNumerics& one = of_[i];
    one.config = rest_of_limits(config_, seconds(), 0);
    one.config.numerics = {numerics_[i]};
    one.config.free_numerics.clear();
    if (config_.progress) {
      one.config.progress = [this, began = seconds()](SearchProgress p) {
        p.seconds += began;
        p.bound = {};
        stopped_ = stopped_ || !config_.progress(p);
        return !stopped_;
      };
    }
    try {
      one.search = std::make_unique<FixedSearch>(problem_, one.config, prices(i));
    } catch (const ConfigError&) {
      why_ = std::current_exception();
      return;
    }
    const bool late = config_.time_limit > 0 && seconds() >= config_.time_limit;
    if (!stopped_ && !late) one.search->bound_meshes();
  }

  // The shared prices for these formats; null: none are shared.
  PlanPrices* prices(std::size_t i) {
    if (known_ == nullptr) return nullptr;
    return &known_->of(numerics_[i], problem_, config_.runtime);
  }

  // Searches the formats that the best plans ask for, while there are new ones.
  void settle() {
    for (int round = 0; round < kSettleRounds && !best_.empty() && !stop_now(); ++round) {
      std::vector<Candidate> found;
      for (const Entry& e : best_) found.push_back(e.candidate);
      const Numerics next = settle_numerics(problem_, config_, found);
      if (std::ranges::find(numerics_, next) != numerics_.end()) break;
      numerics_.push_back(next);
      of_.emplace_back();
      prepare(numerics_.size() - 1);
      if (!of_.back().search) break;
      add(numerics_.size() - 1);
    }
    all_.numerics_searched = static_cast<std::int64_t>(numerics_.size() - left_out_.size());
    all_.numerics_possible = count_numerics(config_.runtime, problem_, config_.numerics.front(),
                                            config_.free_numerics, config_.told_numerics);
  }

  void add(std::size_t i) {
    SearchConfig& c = of_[i].config;
    const SearchConfig rest = rest_of_limits(config_, seconds(), all_.priced);
    c.time_limit = rest.time_limit;
    c.max_evaluations = spent() ? -1 : rest.max_evaluations;
    // Enough that `most` of them are no variants of listed plans.
    c.top = static_cast<int>(most() + best_.size());
    const auto certain = static_cast<std::size_t>(certain_plans(config_));
    if (best_.size() >= certain) {
      c.not_above = std::min(c.not_above, value(best_[certain - 1]));
    }
    if (config_.progress) {
      c.progress = [this, i, began = seconds()](const SearchProgress& p) {
        return tell(p, i, began);
      };
    }
    any_ = true;
    merge(i, of_[i].search->run());
    of_[i].search.reset();
  }

  // Reports progress over all formats.
  bool tell(SearchProgress p, std::size_t at, double began) {
    p.priced += all_.priced;
    p.seconds += began;
    if (!best_.empty()) {
      const Seconds before = value(best_.front());
      p.best = std::min(p.best.value_or(before), before);
    }
    if (p.best) p.bound = std::min(p.bound, *p.best);
    if (!all_.optimal) p.bound = std::min(p.bound, all_.bound);
    for (std::size_t i = 0; i < at; ++i) p.bound = std::min(p.bound, least_of(i));
    stopped_ = stopped_ || !config_.progress(p);
    return !stopped_;
  }

  // A lower bound for all plans with these formats.
  [[nodiscard]] Seconds least_of(std::size_t i) const {
    return of_[i].search ? of_[i].search->least()
                         : Seconds(std::numeric_limits<double>::infinity());
  }

  // After the time limit the next format is still searched if nothing is found so far.
  [[nodiscard]] bool stop_now() const {
    if (!any_) return false;
    const bool late = config_.time_limit > 0 && seconds() >= config_.time_limit;
    return stopped_ || ((late || spent()) && !best_.empty());
  }

  [[nodiscard]] bool spent() const {
    return config_.max_evaluations > 0 && all_.priced >= config_.max_evaluations;
  }

  void leave_out(std::size_t i) {
    all_.optimal = false;
    all_.bound = std::min(all_.bound, least_of(i));
    left_out_.push_back(
        {fmt::format("choice {} of the number formats, {}", i + 1, name_of(numerics_[i].precision)),
         "a limit or an interruption came first"});
  }

  [[nodiscard]] std::size_t most() const {
    return static_cast<std::size_t>(listed_plans(config_));
  }

  [[nodiscard]] Seconds value(const Entry& e) const {
    return value_of(e.candidate.estimate, config_.robust);
  }

  void merge(std::size_t numerics, SearchResult one) {
    all_.optimal = all_.optimal && one.optimal;
    all_.enumerated += one.enumerated;
    all_.priced += one.priced;
    all_.fallback_priced += one.fallback_priced;
    all_.stage_ways += one.stage_ways;
    all_.not_tried = one.not_tried;  // the same of all numerics
    if (!one.optimal) all_.bound = std::min(all_.bound, one.bound);
    for (const auto& [rule, plans] : one.rejected) all_.rejected[rule] += plans;
    for (Candidate& c : one.best) best_.push_back({numerics, std::move(c)});
    std::ranges::stable_sort(best_, [&](const Entry& a, const Entry& b) {
      return value(a) != value(b) ? value(a) < value(b) : a.numerics < b.numerics;
    });
    for (std::size_t i = 0; i < best_.size();) {
      const auto end = best_.begin() + static_cast<std::ptrdiff_t>(i);
      const bool variant = std::any_of(best_.begin(), end, [&](const Entry& e) {
        return variants(e.candidate.plan, best_[i].candidate.plan);
      });
      if (variant) drop(i, "variant");
      else ++i;
    }
    while (best_.size() > most()) drop(best_.size() - 1, "slower");
    all_.certain = std::min(all_.certain, one.certain);
    std::ranges::move(one.spares, std::back_inserter(all_.spares));
    std::ranges::move(one.met, std::back_inserter(all_.met));
    std::ranges::move(one.nearest, std::back_inserter(all_.nearest));
    std::ranges::stable_sort(all_.nearest, {},
                             [](const Candidate& c) { return c.estimate.peak_bytes(); });
    if (all_.nearest.size() > kNearestKept) all_.nearest.resize(kNearestKept);
  }

  // Of all numerics.
  void choose_spares() {
    std::ranges::stable_sort(all_.spares, {}, [&](const Candidate& c) {
      return value_of(c.estimate, config_.robust);
    });
    if (all_.spares.size() > most()) all_.spares.resize(most());
    std::ranges::stable_sort(all_.met, {}, &MetPlan::value);
  }

  void drop(std::size_t i, const char* rule) {
    best_.erase(best_.begin() + static_cast<std::ptrdiff_t>(i));
    ++all_.rejected[rule];
  }

  const Problem& problem_;
  const SearchConfig& config_;
  KnownPrices* known_;
  std::vector<Numerics> numerics_;  // of the config, then those that were settled on
  SearchResult all_;  // but for its best
  std::vector<Entry> best_;
  std::vector<NotTried> left_out_;
  Stopwatch clock_;
  std::deque<OfNumerics> of_{numerics_.size()};  // searches refer to their configs
  bool any_ = false, stopped_ = false;
  std::exception_ptr why_;
};

}  // namespace

SearchResult search(const Problem& problem, const SearchConfig& config, KnownPrices* known) {
  PLEAT_ASSERT(!config.numerics.empty());
  if (config.numerics.size() == 1 && config.free_numerics.empty()) {
    PlanPrices* prices =
        known == nullptr ? nullptr : &known->of(config.numerics.front(), problem, config.runtime);
    return FixedSearch(problem, config, prices).run();
  }
  return SearchOverNumerics(problem, config, known).run();
}

}  // namespace pleat
