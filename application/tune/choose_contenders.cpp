// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans of a search are worth running beside the winner.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "application/tune/contest.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// What makes two plans different runs, not shades of one.
auto shape_of(const Plan& p) {
  return std::tuple(p.attention.pp, p.expert.ep, p.micro_batch, p.recompute_full, p.recompute,
                    p.stages.size());
}

bool same_grid(const Plan& a, const Plan& b) {
  return a.attention == b.attention && a.expert == b.expert;
}

// The candidate to run as a loser: another grid than the `taken` ones if there is such a one, else
// another shape; nullptr if all are the same. Of equals the first.
const Candidate* pick(const std::vector<const Candidate*>& from,
                      const std::vector<const Candidate*>& taken) {
  const auto differs = [&](auto same) {
    return std::find_if(from.begin(), from.end(), [&](const Candidate* c) {
      return std::none_of(taken.begin(), taken.end(),
                          [&](const Candidate* t) { return same(c->plan, t->plan); });
    });
  };
  auto found = differs(same_grid);
  if (found == from.end()) {
    found = differs([](const Plan& a, const Plan& b) { return shape_of(a) == shape_of(b); });
  }
  return found == from.end() ? nullptr : *found;
}

}  // namespace

std::vector<Contender> choose_contenders(const std::vector<Candidate>& candidates) {
  PLEAT_ASSERT(!candidates.empty());
  const Candidate& winner = candidates.front();
  std::vector<const Candidate*> far, clear, others;
  for (const Candidate& c : candidates) {
    const double times = c.estimate.step / winner.estimate.step;
    (times > kClearlySlower ? clear : others).push_back(&c);
    if (times > kFarSlower) far.push_back(&c);
  }
  std::vector<const Candidate*> chosen{&winner};
  const auto take = [&](const Candidate* c) {
    if (c != nullptr && chosen.size() < 3) chosen.push_back(c);
  };
  const Candidate* slow = pick(far, chosen);
  take(slow != nullptr ? slow : pick(clear, chosen));
  take(pick(others, chosen));  // a close race, if there is one
  take(pick(clear, chosen));
  std::sort(chosen.begin(), chosen.end(), [](const Candidate* a, const Candidate* b) {
    return a->estimate.step < b->estimate.step;
  });
  std::vector<Contender> contenders;
  for (const Candidate* c : chosen) {
    const std::string label =
        contenders.empty() ? "winner" : fmt::format("loser {}", contenders.size());
    contenders.push_back({.label = label, .plan = c->plan, .predicted = c->estimate});
  }
  return contenders;
}

}  // namespace pleat
