// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/diagnostics.hpp"
#include "core/median.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {
namespace {

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

TrialOutlook outlook_of(const StepEstimate& e) {
  return {e.step.base(), e.relative_band / kBandDeviations};
}

}  // namespace

// E[max(0, b - T)] with ln T ~ N(ln m, s): b N(z) - m exp(s^2 / 2) N(z - s), z = ln(b / m) / s.
double expected_improvement(const TrialOutlook& o, double best) {
  if (o.deviation <= 0) return std::max(0.0, best - o.seconds);
  const double z = std::log(best / o.seconds) / o.deviation;
  const double mean = o.seconds * std::exp(0.5 * o.deviation * o.deviation);
  return std::max(0.0, best * normal_below(z) - mean * normal_below(z - o.deviation));
}

TrialChoice::TrialChoice(Profile profile, std::vector<RunToLearn> plans)
    : profile_(std::move(profile)),
      learned_(profile_),
      plans_(std::move(plans)),
      states_(plans_.size(), State::open) {
  for (const RunToLearn& plan : plans_) outlooks_.push_back(outlook_of(plan.price(learned_)));
}

void TrialChoice::measured(std::size_t plan, double seconds) {
  plans_[plan].measured = seconds;
  states_[plan] = State::measured;
  learn();
}

void TrialChoice::failed(std::size_t plan) { states_[plan] = State::failed; }

void TrialChoice::started(std::size_t plan) { states_[plan] = State::running; }

void TrialChoice::learn() {
  std::vector<RunToLearn> trials;
  for (std::size_t i = 0; i < plans_.size(); ++i)
    if (states_[i] == State::measured) trials.push_back(plans_[i]);
  double factor = 1;
  try {
    learned_ = learn_from_runs(profile_, trials);
  } catch (const ConfigError&) {  // they disagree, or the profile has learned before
    learned_ = profile_;
    std::vector<double> ratios;
    for (const RunToLearn& trial : trials)
      ratios.push_back(trial.measured / trial.price(profile_).step.base());
    factor = median(std::move(ratios));
  }
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    outlooks_[i] = outlook_of(plans_[i].price(learned_));
    outlooks_[i].seconds *= factor;
  }
}

std::optional<std::size_t> TrialChoice::best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (states_[i] != State::measured) continue;
    if (!best || plans_[i].measured < plans_[*best].measured) best = i;
  }
  return best;
}

std::optional<TrialChoice::Next> TrialChoice::next() const {
  std::optional<double> to_beat;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (states_[i] != State::measured && states_[i] != State::running) continue;
    const double took = states_[i] == State::measured ? plans_[i].measured : outlooks_[i].seconds;
    to_beat = std::min(to_beat.value_or(took), took);
  }
  std::optional<Next> next;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (states_[i] != State::open) continue;
    const TrialOutlook& o = outlooks_[i];
    const double gain = to_beat ? expected_improvement(o, *to_beat) / *to_beat : 0;
    const bool better =
        !next ||
        (to_beat && gain != next->gain ? gain > next->gain : o.seconds < next->outlook.seconds);
    if (better) next = Next{i, o, gain};
  }
  return next;
}

}  // namespace pleat
