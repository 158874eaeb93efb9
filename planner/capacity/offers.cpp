// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/offers.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace pleat {
namespace {

using Key = std::pair<double, double>;
using KeyOf = std::function<Key(const Offer&)>;
using Admits = std::function<bool(const Offer&)>;

std::optional<std::size_t> least(const std::vector<Offer>& offers, const KeyOf& key,
                                 const Admits& admits) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (!offers[i].problem.empty() || !admits(offers[i])) continue;
    if (!best || key(offers[i]) < key(offers[*best])) best = i;
  }
  return best;
}

KeyOf by_time(Confidence c) {
  return [c](const Offer& o) {
    return Key{time_of(o.booking, c).base(), dollars_of(o.booking, c)};
  };
}
KeyOf by_dollars(Confidence c) {
  return [c](const Offer& o) {
    return Key{dollars_of(o.booking, c), time_of(o.booking, c).base()};
  };
}

}  // namespace

Seconds time_of(const Booking& b, Confidence c) {
  return c == Confidence::p50 ? b.finish.p50 : b.finish.p90;
}

double dollars_of(const Booking& b, Confidence c) {
  return c == Confidence::p50 ? b.dollars_p50 : b.dollars_p90;
}

bool meets_deadline(const Offer& offer, const Goal& goal) {
  return !goal.deadline || time_of(offer.booking, goal.confidence) <= *goal.deadline;
}

bool meets_budget(const Offer& offer, const Goal& goal) {
  return !goal.budget || dollars_of(offer.booking, goal.confidence) <= *goal.budget;
}

Offer better_of(Offer fastest, Offer filled, const Goal& goal) {
  if (!filled.problem.empty()) return fastest;
  if (!fastest.problem.empty()) return filled;
  const bool cheaper = dollars_of(filled.booking, goal.confidence) <
                       dollars_of(fastest.booking, goal.confidence);
  const bool wanted = goal.deadline ? meets_deadline(filled, goal) : !meets_budget(fastest, goal);
  return cheaper && wanted ? filled : fastest;
}

Choice choose(const std::vector<Offer>& offers, const Goal& goal) {
  const auto admits = [&](const Offer& o) {
    return meets_deadline(o, goal) && meets_budget(o, goal);
  };
  Choice choice{least(offers, by_dollars(goal.confidence), admits),
                least(offers, by_time(goal.confidence), admits),
                {}};
  const KeyOf key = by_time(goal.confidence);
  for (std::size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].problem.empty()) choice.front.push_back(i);
  }
  std::stable_sort(choice.front.begin(), choice.front.end(),
                   [&](std::size_t a, std::size_t b) { return key(offers[a]) < key(offers[b]); });
  std::vector<std::size_t> kept;  // each slower than the one before, and cheaper
  for (const std::size_t i : choice.front) {
    if (kept.empty() || key(offers[i]).second < key(offers[kept.back()]).second) kept.push_back(i);
  }
  choice.front = std::move(kept);
  return choice;
}

std::optional<std::size_t> fastest_of(const std::vector<Offer>& offers, Confidence c) {
  return least(offers, by_time(c), [](const Offer&) { return true; });
}

std::optional<std::size_t> cheapest_of(const std::vector<Offer>& offers, Confidence c) {
  return least(offers, by_dollars(c), [](const Offer&) { return true; });
}

}  // namespace pleat
