// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/misses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/capacity/amounts.hpp"

namespace pleat {
namespace {

std::string name_of(const Offer& o) { return fmt::format("{} x {}", o.gpus, o.cluster); }

bool meets(const Offer& offer, const Goal& goal) {
  return offer.problem.empty() && meets_deadline(offer, goal) && meets_budget(offer, goal);
}

// The change to fewer tokens: how many remain, with the offer that keeps the most.
std::string fewer_tokens(const std::vector<Offer>& offers, const Goal& goal, double tokens) {
  const Offer* best = nullptr;
  double most = 0;
  for (const Offer& o : offers) {
    if (!o.problem.empty()) continue;
    const double share = tokens_within(o, goal) / o.tokens;
    if (share > most) {
      most = share;
      best = &o;
    }
  }
  // Rounded down to three digits, so that the printed number of tokens meets the goals, too.
  const double kept = round_down(most * tokens, 3);
  if (best == nullptr || kept <= 0) return {};
  return fmt::format("{} tokens instead of {} ({})", amount_text(kept), amount_text(tokens),
                     name_of(*best));
}

std::string larger_offer(const std::vector<Offer>& larger, const Goal& goal) {
  const Offer* best = nullptr;
  for (const Offer& o : larger) {
    if (meets(o, goal) && (best == nullptr || o.gpus < best->gpus)) best = &o;
  }
  if (best == nullptr) return {};
  return fmt::format("more GPUs: {} take {} and {}", name_of(*best),
                     days_text(time_of(best->booking, goal.confidence)),
                     dollars_text(dollars_of(best->booking, goal.confidence)));
}

void add(std::vector<std::string>& changes, std::string change) {
  if (!change.empty()) changes.push_back(std::move(change));
}

Miss deadline_miss(const Offer& fastest, const Goal& goal) {
  const Seconds time = time_of(fastest.booking, goal.confidence);
  return {fmt::format("deadline: the fastest offer, {}, takes {}, {} too long", name_of(fastest),
                      days_text(time), days_text(time - *goal.deadline)),
          {fmt::format("--deadline {:.1f}d ({})", std::ceil(time.base() / 8640) / 10,
                       name_of(fastest))}};
}

Miss budget_miss(const Offer& cheapest, const Goal& goal) {
  const double dollars = dollars_of(cheapest.booking, goal.confidence);
  const double price = cheapest.rates.at(Rate::price);
  return {fmt::format("budget: the cheapest offer, {}, costs {}, {} too much", name_of(cheapest),
                      dollars_text(dollars), dollars_text(dollars - *goal.budget)),
          {fmt::format("--budget {} ({})", amount_text(-round_down(-dollars, 3)),
                       name_of(cheapest)),
           fmt::format("a price of {:.3f} USD per GPU-hour instead of {:.3f} for {}",
                       round_down(price * *goal.budget / dollars, 3), price,
                       cheapest.cluster)}};
}

}  // namespace

double tokens_within(const Offer& offer, const Goal& goal) {
  const auto fits = [&](double tokens) {
    const Booking b = book(offer.job, offer.rates, tokens);
    return b.problem.empty() &&
           (!goal.deadline || time_of(b, goal.confidence) <= *goal.deadline) &&
           (!goal.budget || dollars_of(b, goal.confidence) <= *goal.budget);
  };
  double low = 0, high = offer.tokens;
  if (fits(high)) return high;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

std::vector<Miss> misses_of(const std::vector<Offer>& offers, const std::vector<Offer>& larger,
                            const Goal& goal, double tokens) {
  const auto fastest = fastest_of(offers, goal.confidence);
  const auto cheapest = cheapest_of(offers, goal.confidence);
  std::vector<Miss> misses;
  if (!fastest || !cheapest) return misses;
  if (!meets_deadline(offers[*fastest], goal)) {
    misses.push_back(deadline_miss(offers[*fastest], goal));
  }
  if (!meets_budget(offers[*cheapest], goal)) {
    misses.push_back(budget_miss(offers[*cheapest], goal));
  }
  if (misses.empty()) {  // some offers meet the deadline, others the budget, none meets both
    const Choice in_time = choose(offers, {goal.deadline, {}, goal.confidence});
    const Choice affordable = choose(offers, {{}, goal.budget, goal.confidence});
    misses.push_back(budget_miss(offers[*in_time.cheapest], goal));
    misses.back().what = "in time, but over the budget: " + misses.back().what;
    misses.push_back(deadline_miss(offers[*affordable.fastest], goal));
    misses.back().what = "within the budget, but late: " + misses.back().what;
  }
  add(misses.front().changes, fewer_tokens(offers, goal, tokens));
  add(misses.front().changes, larger_offer(larger, goal));
  return misses;
}

}  // namespace pleat
