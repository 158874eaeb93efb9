// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/neighbour_prices.hpp"

#include <algorithm>

#include "planner/neighbours/legal_plans.hpp"

namespace pleat {
namespace {

constexpr std::size_t kPricedAtOnce = 64;  // plans priced between two looks at the limits
constexpr std::size_t kProgramsOf = 512;    // plans are kept: most share them with the ones before
constexpr std::int64_t kManySlots = 1000;  // a plan of more is bounded before it is priced
constexpr int kParts = 1000;               // a share is a multiple of a thousandth
constexpr int kPricesOfShare = 11;         // to halve that down to one

int most_prices(const Neighbour& n) { return n.least_share >= 0 ? kPricesOfShare : 1; }

}  // namespace

NeighbourPrices::NeighbourPrices(const Problem& p, const SearchConfig& config, PlanPrices& known,
                                 std::int64_t prices, std::int64_t slots)
    : problem_(p),
      config_(config),
      estimator_(known.estimator),
      bounds_(known.bounds),
      workers_(thread_count(config.threads)),
      usable_(usable_bytes(p.cluster, config)),
      host_(static_cast<std::int64_t>(p.cluster.host_memory.base())) {
  allow(prices, slots);
}

void NeighbourPrices::allow(std::int64_t prices, std::int64_t slots) {
  prices_ = prices;
  slots_ = slots;
  if (config_.max_evaluations > 0) {
    prices_ = std::min(prices_, config_.max_evaluations - priced_);
  }
}

void NeighbourPrices::price(std::vector<Neighbour>& plans, std::size_t first, Seconds cutoff,
                            Seconds best) {
  std::vector<int> estimates;
  while (first < plans.size()) {
    std::size_t count = 0;
    std::int64_t prices = 0, slots = 0;
    for (; count < kPricedAtOnce && first + count < plans.size(); ++count) {
      const Neighbour& n = plans[first + count];
      prices += most_prices(n);
      slots += slots_of(n.plan) * most_prices(n);
      if (prices > prices_ || (count > 0 && slots > slots_)) break;
    }
    if (count == 0) prices_ = 0;
    if (used_up() || stopped(best)) break;
    estimates.assign(count, 0);
    workers_.for_each(count,
                      [&](std::size_t i) { estimates[i] = answer(plans[first + i], cutoff); });
    for (std::size_t i = 0; i < count; ++i) {
      prices_ -= std::max(1, estimates[i]);
      slots_ -= slots_of(plans[first + i].plan) * estimates[i];
      priced_ += estimates[i];
    }
    tried_ += static_cast<std::int64_t>(count);
    since_forgotten_ += count;
    if (since_forgotten_ >= kProgramsOf) {
      estimator_.forget_programs();
      since_forgotten_ = 0;
    }
    first += count;
  }
  plans.resize(std::min(plans.size(), first));
}

int NeighbourPrices::answer(Neighbour& n, Seconds cutoff) {
  const int priced = n.least_share >= 0 ? put_least_share(n) : 0;
  if (slots_of(n.plan) > kManySlots && n.plan.stages.empty()) {
    n.value = bounds_.own(n.plan, cutoff).step;
    n.bounded = n.value > cutoff;
    if (n.bounded) return priced;
  }
  const StepEstimate e = estimator_(n.plan);
  n.value = value_of(e, config_.robust);
  n.peak = e.peak_bytes();
  n.over = std::max<std::int64_t>(0, n.peak - usable_);
  n.fits = fits(e);
  return priced + 1;
}

// More of the state in host memory leaves less on the GPU. Returns how many estimates it took.
int NeighbourPrices::put_least_share(Neighbour& n) {
  int priced = 0, low = 0, high = kParts;  // what does not fit with `high` does not fit at all
  const auto put_share = [&](int parts) {
    put({static_cast<std::uint8_t>(n.least_share), -1, static_cast<double>(parts) / kParts},
        n.plan);
    put_dependent(n.plan);
  };
  for (; high - low > 1; ++priced) {
    const int middle = (low + high) / 2;
    put_share(middle);
    (estimator_(n.plan).peak_bytes() <= usable_ ? high : low) = middle;
  }
  put_share(high);
  return priced;
}

bool NeighbourPrices::fits(const StepEstimate& e) const {
  return e.peak_bytes() <= usable_ && (host_ <= 0 || e.host_bytes <= host_);
}

std::int64_t NeighbourPrices::slots_of(const Plan& plan) const {
  return 2 * plan.microbatches(problem_.workload.global_batch) * plan.attention.pp * plan.vpp;
}

bool NeighbourPrices::stopped(Seconds best) {
  const double spent = seconds();
  if (config_.time_limit > 0 && spent >= config_.time_limit) stopped_ = true;
  if (!stopped_ && config_.progress) {
    const SearchProgress progress{
        .priced = priced_, .seconds = spent, .best = best, .bound = {}, .changes = true};
    stopped_ = !config_.progress(progress);
  }
  return stopped_;
}

}  // namespace pleat
