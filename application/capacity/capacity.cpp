// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/capacity/capacity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "application/capacity/find_offer.hpp"
#include "core/diagnostics.hpp"
#include "planner/capacity/answer.hpp"
#include "planner/problem.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search_config.hpp"
#include "simulator/estimate.hpp"

namespace pleat {
namespace {

constexpr double kQuiet = 1.0;       // seconds of a search before a word of it
// What a page has sliders for: factors of the tokens and of the busiest rank's load.
constexpr double kTokenFactors[] = {0.25, 0.5, 1, 2, 4};
constexpr double kLoadFactors[] = {1, 1.1, 1.25, 1.5, 2};
constexpr int kDoublingsBeyond = 3;  // of the largest size, when the deadline is missed

// An offer to be found.
struct Task {
  const CapacitySite* site = nullptr;
  int gpus = 0;
};

class Capacity {
 public:
  Capacity(const CapacityQuestion& question, int threads, const WorkHooks& hooks,
           const ShowOffers& show)
      : question_(question), threads_(threads), hooks_(hooks), show_(show) {
    answer_.model = question_.sites.front().target.model.name;
    answer_.tokens = question_.tokens;
    answer_.seq_len = question_.sites.front().target.workload.seq_len;
    answer_.global_batch = question_.sites.front().target.workload.global_batch;
    answer_.critical_batch = question_.critical_batch;
    answer_.goal = question_.goal;
    answer_.tuning = question_.tuning;
  }

  CapacityAnswer run() {
    find_offers();
    if (hooks_.goes_on()) conclude();
    hooks_.tell("");
    if (!hooks_.goes_on()) {
      answer_.complete = false;
      answer_.choice = choose(answer_.offers, answer_.goal);
    }
    return std::move(answer_);
  }

 private:
  // The smallest of every cluster, so that there is something to show, then the largest first: they
  // take longest, and the threads end together.
  [[nodiscard]] std::vector<Task> tasks() const {
    std::vector<Task> first, rest;
    for (const CapacitySite& site : question_.sites) {
      for (const int gpus : site.sizes) {
        (gpus == site.sizes.front() ? first : rest).push_back({&site, gpus});
      }
    }
    std::ranges::stable_sort(rest, std::greater{}, &Task::gpus);
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

  // Several searches side by side: one alone keeps few threads busy. Which offers are found does
  // not depend on it, nor does their order.
  void find_offers() {
    const std::vector<Task> all = tasks();
    const int threads = thread_count(threads_);
    const int inside = std::max(1, threads / static_cast<int>(all.size()));
    all_ = all.size();
    found_.resize(all.size());
    if (show_) first_look(all, threads, inside);
    say_progress("");
    for_each_in_parallel(all.size(), threads, [&](std::size_t i) {
      if (!hooks_.goes_on()) return;
      std::optional<Offer> found = offer(*all[i].site, all[i].gpus, inside);
      if (!found) return;
      const std::scoped_lock lock(mutex_);
      found_[i] = std::move(*found);
      ++done_;
      collect();
      show();
      say_progress("");
    });
    collect();
  }

  // A short search for every offer; the table fills up.
  void first_look(const std::vector<Task>& all, int threads, int inside) {
    hooks_.tell(fmt::format("a first look at {} {}", all.size(),
                            all.size() == 1 ? "offer" : "offers"));
    for_each_in_parallel(all.size(), threads, [&](std::size_t i) {
      if (!hooks_.goes_on()) return;
      std::optional<Offer> found =
          find_offer(question_, *all[i].site, all[i].gpus, inside, hooks_,
                     [&](const SearchProgress&) { return hooks_.goes_on(); }, false);
      if (!found) return;
      found->first_look = true;
      const std::scoped_lock lock(mutex_);
      found_[i] = std::move(*found);
      collect();
      show();
    });
  }

  void show() {
    if (!show_ || answer_.offers.empty()) return;
    answer_.choice = choose(answer_.offers, answer_.goal);
    show_(answer_);
  }

  // The offers that there are, in the order of the answer.
  void collect() {
    answer_.offers.clear();
    for (const std::optional<Offer>& o : found_) {
      if (o) answer_.offers.push_back(*o);
    }
    std::ranges::sort(answer_.offers, std::less{}, [&](const Offer& o) {
      return std::pair(&site_of(o) - question_.sites.data(), o.gpus);
    });
  }

  // With the lock.
  void say_progress(const std::string& search) const {
    hooks_.tell(
        fmt::format("{} of {} offers{}{}", done_, all_, best_so_far(), search));
  }

  // Of one search among those that run side by side; false ends it.
  bool keep_searching(const CapacitySite& site, int gpus, const SearchProgress& p) const {
    if (!hooks_.goes_on()) return false;
    if (p.seconds < kQuiet) return true;
    const std::scoped_lock lock(mutex_);
    if (std::chrono::steady_clock::now() < next_word_) return true;
    next_word_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    if (done_ >= all_) return true;  // this is one beyond the range
    const std::string best =
        p.best ? fmt::format("best so far {:.2f} ms", p.best->base() * 1e3) : "none fits so far";
    say_progress(fmt::format("; {} x {} for {:.0f} s, {}", gpus, site.target.cluster.name,
                             p.seconds, best));
    return true;
  }

  // Nothing: interrupted.
  std::optional<Offer> offer(const CapacitySite& site, int gpus, int threads) const {
    return find_offer(question_, site, gpus, threads, hooks_, [&](const SearchProgress& p) {
      return keep_searching(site, gpus, p);
    });
  }

  [[nodiscard]] std::string best_so_far() const {
    const Choice choice = choose(answer_.offers, answer_.goal);
    if (!choice.cheapest) return "";
    const Offer& best = answer_.offers[*choice.cheapest];
    return fmt::format("; best so far {} x {}", best.gpus, best.cluster);
  }

  void conclude() {
    answer_.choice = choose(answer_.offers, answer_.goal);
    const Confidence c = answer_.goal.confidence;
    if (!answer_.choice.cheapest) {
      answer_.misses = misses_of(answer_.offers, larger_offers(), answer_.goal, answer_.tokens);
    }
    answer_.explained = answer_.goal.deadline ? answer_.choice.cheapest : answer_.choice.fastest;
    if (!answer_.explained) {
      answer_.explained = answer_.goal.deadline ? fastest_of(answer_.offers, c)
                                                : cheapest_of(answer_.offers, c);
    }
    if (answer_.explained) explain(answer_.offers[*answer_.explained]);
    if (question_.what_if) price_what_if();
  }

  void price_what_if() {
    hooks_.tell("prices at other tokens and loads of experts");
    WhatIf& asked = answer_.what_if.emplace();
    asked.tokens.assign(std::begin(kTokenFactors), std::end(kTokenFactors));
    asked.imbalance = {1};
    const CapacitySite& first = question_.sites.front();
    if (first.target.model.moe) {
      asked.imbalance.assign(std::begin(kLoadFactors), std::end(kLoadFactors));
    }
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < answer_.offers.size(); ++i) {
      if (answer_.offers[i].problem.empty()) places.push_back(i);
    }
    asked.offers.resize(places.size());
    for_each_in_parallel(places.size(), thread_count(threads_), [&](std::size_t i) {
      const Offer& o = answer_.offers[places[i]];
      asked.offers[i] = what_if(asked, places[i], o, [&](double factor) {
        return at_load(site_of(o), o, factor);
      });
    });
  }

  static StepAtLoad at_load(const CapacitySite& site, const Offer& o, double factor) {
    Problem problem = site.target;
    problem.workload.global_batch = o.job.global_batch;
    for (const StepInput& input : step_inputs(problem.model, problem.cluster)) {
      if (input.is_load) input.scale(problem, factor);
    }
    const Program program =
        compile(problem.model, problem.workload, o.job.plan, site.target.runtime);
    const StepEstimate e = estimate(program, problem.cluster, problem.profile);
    return {e.step, e.fits};
  }

  [[nodiscard]] const CapacitySite& site_of(const Offer& o) const {
    return *std::ranges::find_if(question_.sites, [&](const CapacitySite& s) {
      return s.target.cluster.name == o.cluster;
    });
  }

  // Beyond the range, on the cluster that came closest, until one is in time.
  std::vector<Offer> larger_offers() {
    std::vector<Offer> larger;
    const auto fastest = fastest_of(answer_.offers, answer_.goal.confidence);
    if (!fastest || question_.largest_asked == 0 || !answer_.goal.deadline) return larger;
    if (meets_deadline(answer_.offers[*fastest], answer_.goal)) return larger;
    const CapacitySite& site = site_of(answer_.offers[*fastest]);
    std::int64_t gpus = site.sizes.back();
    for (int i = 0; i < kDoublingsBeyond && (gpus *= 2) <= 16'777'216; ++i) {
      hooks_.tell(fmt::format("nothing is in time; {} x {}", gpus, site.target.cluster.name));
      auto found = offer(site, static_cast<int>(gpus), threads_);
      if (!found) break;
      larger.push_back(std::move(*found));
      const Offer& last = larger.back();
      if (last.problem.empty() && meets_deadline(last, answer_.goal)) break;
    }
    return larger;
  }

  void explain(const Offer& o) {
    hooks_.tell("what matters most");
    const CapacitySite& site = site_of(o);
    Problem problem = site.target;
    problem.workload.global_batch = o.job.global_batch;
    answer_.swings = sensitivity(o, answer_.goal.confidence,
                                 step_inputs(problem.model, problem.cluster),
                                 [&](const StepInput& input, double factor) {
                                   return step_under(site, problem, o.job.plan, input, factor);
                                 });
  }

  [[nodiscard]] static Seconds step_under(const CapacitySite& site, Problem problem,
                                          const Plan& plan, const StepInput& input, double factor) {
    input.scale(problem, factor);
    const Program program = compile(problem.model, problem.workload, plan, site.target.runtime);
    return estimate(program, problem.cluster, problem.profile).step;
  }

  const CapacityQuestion& question_;
  int threads_;
  const WorkHooks& hooks_;
  const ShowOffers& show_;
  CapacityAnswer answer_;
  std::vector<std::optional<Offer>> found_;  // by task
  std::size_t all_ = 0, done_ = 0;           // offers to be found, and whose search has ended
  mutable std::mutex mutex_;    // of the offers and the progress line while they are searched
  mutable std::chrono::steady_clock::time_point next_word_;
};

}  // namespace

CapacityAnswer find_capacity(const CapacityQuestion& question, int threads,
                             const WorkHooks& hooks, const ShowOffers& show) {
  return Capacity(question, threads, hooks, show).run();
}

}  // namespace pleat
