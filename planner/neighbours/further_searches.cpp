// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/further_searches.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/diagnostics.hpp"
#include "core/plan/numerics.hpp"
#include "core/plan/plan_words.hpp"
#include "planner/layout/layout_polish.hpp"
#include "planner/neighbours/allowed_values.hpp"
#include "planner/neighbours/memory_sets.hpp"
#include "planner/search/met_plans.hpp"
#include "planner/search/parallel_rounds.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/search/search.hpp"
#include "planner/space/mesh_sizes.hpp"
#include "planner/space/mesh_space.hpp"

namespace pleat {
namespace {

// Plans that are slower by more are of no interest.
constexpr double kHopefulPlain = 1.1;  // before layouts are polished
constexpr double kHopefulPolished = 1.05;
// Before layouts are polished, where the best plan's state is on the GPU.
constexpr double kHopefulElsewhere = 1.04;
constexpr int kMetOfField = 2;  // starts, for one field
// Of a search with state in host memory that found nothing in these. It then looks closer for good
// plans (fixed_search.cpp).
constexpr int kMostRoundsOfNothing = 200;
constexpr std::int64_t kEstimatesOfAPrice = 7;  // of the budget; choices of stages count
constexpr int kListed = 3;
constexpr double kLeastSeconds = 1e-9;  // 0 is no limit
// Shares of the optimizer's state in host memory: where the best plan has none there; and where it
// has some, as parts of its share, with all degrees and with those of the fastest plan.
constexpr double kShares[] = {0.5, 0.125};
constexpr double kSharesOfAll[] = {1, 0.9, 0.5};
constexpr double kSharesOfOwn[] = {1, 0.9, 0.75, 0.5, 0.25, 1.25, 1.5};
constexpr double kShareSteps = 1000;  // in a whole
constexpr int kMostLooks = 4;  // at these
constexpr std::size_t kPolished = 4;

SearchConfig with_degrees(const Plan& plan, SearchConfig config) {
  config.pin<"tp">() = plan.attention.tp;
  config.pin<"cp">() = plan.attention.cp;
  config.pin<"pp">() = plan.attention.pp;
  config.pin<"ep">() = plan.expert.ep;
  config.pin<"etp">() = plan.expert.etp;
  config.pin<"expert-placement">() = plan.expert.placement;
  config.pin<"redundant-experts">() = plan.expert.redundant;
  return config;
}

bool pins_state(const SearchConfig& config) {
  return config.cpu_optimizer || config.optimizer_offload.only(true);
}

// The config in which a field may have any value but the plan's: any of `all`, where it is not
// pinned. Nothing if there is no other one.
template <FlagText Flag, class T>
std::optional<SearchConfig> without(SearchConfig config, const Plan& plan, std::vector<T> all) {
  std::vector<T>& values = config.pin<Flag>().values;
  if (values.empty()) values = std::move(all);
  std::erase(values, kPlanField<kPinRow<Flag>>.in(plan));
  if (values.empty()) return std::nullopt;
  return config;
}

bool may_be_one(const Pinned<int>& pin) {
  return pin.empty() || std::ranges::find(pin, 1) != pin.end();
}

}  // namespace

FurtherSearches::FurtherSearches(const Problem& problem, SearchConfig& config,
                                 NeighbourPrices& prices, KnownPrices& known,
                                 SearchResult& result)
    : problem_(problem), config_(config), prices_(prices), known_(known), result_(result) {}

Seconds FurtherSearches::value(const Candidate& c) const {
  return value_of(c.estimate, config_.robust);
}

std::optional<Candidate> FurtherSearches::one_f_one_b(const Candidate& best) {
  constexpr PipelineSchedule order = PipelineSchedule::one_f_one_b;
  const std::vector<PipelineSchedule> orders = schedules_of(config_);
  const bool may = std::ranges::find(orders, order) != orders.end();
  if (!may || best.plan.schedule == order || best.plan.attention.pp == 1) return std::nullopt;
  SearchConfig config = config_;
  config.pin<"schedule">() = order;
  SearchResult found = search_with(config, best, kHopefulPlain, kListed);
  polish_layouts(problem_, config, found, &known_);
  const auto hopeful = std::ranges::find_if(found.best, [&](const Candidate& c) {
    return c.plan.attention.pp > 1 && value(c) <= value(best) * kHopefulPolished;
  });
  if (hopeful == found.best.end()) return std::nullopt;
  return std::move(*hopeful);
}

std::vector<FurtherSearches::Unlike> FurtherSearches::unlike(const Candidate& best) {
  const Plan& plan = best.plan;
  std::vector<Unlike> found;
  const auto add = [&](SearchConfig config, const SearchConfig& searched, int plans = 1) {
    SearchResult result = search_with(searched, best, kHopefulPlain, plans);
    polish_layouts(problem_, config, result, &known_);
    if (!result.best.empty()) found.push_back({std::move(config), std::move(result.best.front())});
  };
  for (const PipelineSchedule order : schedules_of(config_)) {  // 1F1B has a start of its own
    const bool plain = order == PipelineSchedule::one_f_one_b;
    if (plain || order == plan.schedule || plan.attention.pp == 1) continue;
    SearchConfig config = config_;
    config.pin<"schedule">() = order;
    add(config, config, kListed);  // the best layout may be another one's
  }
  const std::vector<int> stages = divisors(config_.gpus, problem_.model.layers);
  if (const auto config = without<"pp">(config_, plan, stages)) add(*config, *config);
  if (problem_.model.moe) {
    const std::vector<int> sizes = divisors(problem_.model.moe->experts, config_.gpus);
    if (const auto config = without<"ep">(config_, plan, sizes)) add(*config, *config);
    if (const auto config = without<"dispatcher">(config_, plan, dispatchers())) {
      add(*config, with_degrees(plan, *config));
    }
  }
  if (config_.runtime == Runtime::megatron) {
    const std::vector<CudaGraph> graphs(kAll<CudaGraph>.begin(), kAll<CudaGraph>.end());
    if (const auto config = without<"cuda-graph">(config_, plan, graphs)) {
      add(*config, with_degrees(plan, *config));
    }
  }
  if (plan.sharding == Sharding::zero1 && may_be_one(config_.pin<"pp">())) {
    const std::vector<Sharding> more{Sharding::zero2, Sharding::zero3};
    if (const auto config = without<"sharding">(config_, plan, more)) {
      SearchConfig searched = *config;
      searched.pin<"pp">() = 1;
      add(*config, searched);
    }
  }
  if (host_share(plan) > 0 && !pins_state(config_)) {
    SearchConfig config = config_;
    config.cpu_optimizer = false;
    config.optimizer_offload = false;
    add(config, config);
  }
  return found;
}

// Those that a search may choose from where none is pinned.
std::vector<Dispatcher> FurtherSearches::dispatchers() const {
  std::vector<Dispatcher> list(kAll<Dispatcher>.begin(), kAll<Dispatcher>.end());
  std::erase_if(list,
                [&](Dispatcher d) { return !has_dispatcher(problem_, config_.runtime, d); });
  return list;
}

std::vector<FurtherSearches::Unlike> FurtherSearches::met_unlike(const Candidate& best) {
  std::vector<Unlike> found;
  std::array<int, kPlanFieldCount> met_by{};
  for (const MetPlan& met : result_.met) {
    if (met.value > value(best) * kHopefulMet || prices_.stopped(value(best))) break;
    if (numerics_of(met.plan) != numerics_of(best.plan)) continue;
    SearchConfig config = config_;
    bool unlike = false;
    for_each_met_field([&](auto row) {
      constexpr const auto& field = kPlanField<row>;
      if (met.row != row || field.in(met.plan) == field.in(best.plan)) return;
      unlike = met_by[row]++ < kMetOfField;
      std::get<row>(config.pins.by_row) = field.in(met.plan);
    });
    if (!unlike) continue;
    Candidate start = prices_.candidate(met.plan);
    found.push_back({config, polish_layout(problem_, config, std::move(start), &known_).best});
  }
  return found;
}

std::vector<Candidate> FurtherSearches::with_state_in_host_memory(const Candidate& best) {
  const OptimizerPlan& o = best.plan.optimizer;
  if (pins_state(config_) || (o.cpu_offload > 0 && o.state_offload > 0)) return {};
  std::vector<Candidate> found;
  if (host_share(best.plan) > 0) {
    const bool stepped = o.cpu_offload > 0;
    found = with_shares(stepped ? StatePlace::host_stepped : StatePlace::host, best);
  } else if (gives_up_memory(best.plan) || best.plan.sharding > Sharding::zero1) {
    const auto add = [&](StatePlace place, double share) {
      std::ranges::move(with_state_in(place, share, best, kHopefulElsewhere, false),
                        std::back_inserter(found));
    };
    if (state_may_come_back(config_)) add(StatePlace::host, 1);
    for (const double share : kShares) {
      if (config_.offload) add(StatePlace::host_stepped, share);
    }
  }
  in_order(found);
  if (found.size() > kPolished) found.resize(kPolished);
  for_each_in_parallel(found.size(), thread_count(config_.threads), [&](std::size_t i) {
    found[i] = polish_layout(problem_, config_, std::move(found[i]), &known_).best;
  });
  in_order(found);
  std::erase_if(found, [&](const Candidate& c) {
    return value(c) > value(best) * kHopefulPolished;
  });
  return found;
}

// First all plans, with few shares, then with more those that have the degrees of the fastest one.
std::vector<Candidate> FurtherSearches::with_shares(StatePlace place, const Candidate& best) {
  std::vector<Candidate> found;
  Candidate around = best;
  const auto add = [&](double times, bool own_degrees) {
    const double share = std::round(times * host_share(around.plan) * kShareSteps) / kShareSteps;
    if (share <= 0 || share > 1) return;
    std::ranges::move(with_state_in(place, share, around, kHopefulPlain, own_degrees),
                      std::back_inserter(found));
  };
  for (const double times : kSharesOfAll) add(times, false);
  for (int looks = 0; looks < kMostLooks; ++looks) {
    in_order(found);
    const bool faster = !found.empty() && value(found.front()) < value(around);
    if (faster) around = found.front();
    if (looks > 0 && !faster) break;
    for (const double times : kSharesOfOwn) add(times, true);
  }
  in_order(found);
  return found;
}

// `own_degrees`: only plans with those of `known`, of which all are then looked at.
std::vector<Candidate> FurtherSearches::with_state_in(StatePlace place, double share,
                                                      const Candidate& known, double hopeful,
                                                      bool own_degrees) {
  SearchConfig config = config_;
  if (own_degrees) config = with_degrees(known.plan, std::move(config));
  config.cpu_optimizer = place == StatePlace::host_stepped;
  config.optimizer_offload = {};
  if (place == StatePlace::host) config.optimizer_offload = true;
  config.host_share = share;
  SearchResult found = search_with(config, known, hopeful, kListed);
  if (found.best.empty() && !found.optimal && !own_degrees) {
    found = search_with(std::move(config), known, hopeful, kListed, kMostRoundsOfNothing);
  }
  return found.best;
}

void FurtherSearches::in_order(std::vector<Candidate>& plans) const {
  std::ranges::stable_sort(plans, {}, [&](const Candidate& c) { return value(c); });
}

// The plans of a search with the number formats of `known` that take at most so many times as long;
// none if the space is empty. So many are certain to be the best, if its rounds are enough.
SearchResult FurtherSearches::search_with(SearchConfig config, const Candidate& known,
                                          double hopeful, int plans, int rounds) {
  if (prices_.stopped(value(known))) return {};
  if (config.time_limit > 0) {
    config.time_limit = std::max(kLeastSeconds, config.time_limit - prices_.seconds());
  }
  config.numerics = {numerics_of(known.plan)};
  config.free_numerics.clear();
  config.not_above = value(known) * hopeful;
  config.max_rounds = rounds;
  config.tells_nearest = false;
  config.top = config.certain = plans;
  config.max_evaluations = config_.neighbours * kEstimatesOfAPrice;
  const bool limited = config_.max_evaluations > 0;
  if (limited) {
    const std::int64_t left = config_.max_evaluations - prices_.priced();
    if (left <= 0) return {};
    config.max_evaluations = std::min(left, config.max_evaluations);
  }
  if (config_.progress) {
    config.progress = [this, shown = value(known), seconds = prices_.seconds()](SearchProgress p) {
      p.seconds += seconds;
      p.priced += prices_.priced();
      p.best = shown;
      p.bound = {};
      p.changes = true;
      return config_.progress(p);
    };
  }
  SearchResult found;
  try {
    found = search(problem_, config, &known_);
  } catch (const ConfigError&) {
    return {};  // no valid plan
  }
  known_.forget_programs();
  result_.priced += found.priced;
  if (limited) {
    config_.max_evaluations = std::max<std::int64_t>(1, config_.max_evaluations - found.priced);
  }
  return found;
}

}  // namespace pleat
