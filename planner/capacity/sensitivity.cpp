// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace pleat {
namespace {

using Change = std::function<void(double factor, Job&, Rates&)>;

struct Input {
  std::string name;
  Change change;
};

Change scale_rates(std::vector<Rate> list) {
  return [list](double factor, Job&, Rates& rates) {
    for (const Rate rate : list) {
      const RateFacts& f = facts_of(rate);
      rates = rates.with(rate, std::clamp(rates.at(rate) * factor, f.min, f.max));
    }
  };
}

std::vector<Input> all_inputs(const std::vector<StepInput>& of_step, const StepUnder& step) {
  std::vector<Input> inputs{
      {"price", scale_rates({Rate::price})},
      {"MFU", [](double factor, Job& job, Rates&) { job.step *= 1 / factor; }},
      {"MTBF", scale_rates({Rate::gpu_mtbf})},
      {"restart time", scale_rates({Rate::restart})},
      {"repair time", scale_rates({Rate::repair})},
      {"failures that take a node", scale_rates({Rate::replaced_share})},
      {"storage bandwidth", scale_rates({Rate::storage_per_gpu, Rate::storage_limit})},
      {"host link", [](double factor, Job& job, Rates&) { job.host_link *= factor; }}};
  for (const StepInput& input : of_step) {
    if (!input.takes_time) continue;
    inputs.push_back({input.name, [&input, &step](double factor, Job& job, Rates&) {
                        job.step = step(input, factor);
                      }});
  }
  return inputs;
}

std::pair<Seconds, double> outcome(const Offer& offer, Confidence confidence, const Input& input,
                                   double factor) {
  Job job = offer.job;
  Rates rates = offer.rates;
  input.change(factor, job, rates);
  const Booking b = book(job, rates, offer.tokens);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!b.problem.empty()) return {Seconds(kNever), kNever};
  return {time_of(b, confidence), dollars_of(b, confidence)};
}

}  // namespace

std::vector<Swing> sensitivity(const Offer& offer, Confidence confidence,
                               const std::vector<StepInput>& inputs, const StepUnder& step) {
  const double time = time_of(offer.booking, confidence).base();
  const double dollars = dollars_of(offer.booking, confidence);
  std::vector<Swing> swings;
  for (const Input& input : all_inputs(inputs, step)) {
    const auto [time_less, dollars_less] = outcome(offer, confidence, input, 1 - kSwing);
    const auto [time_more, dollars_more] = outcome(offer, confidence, input, 1 + kSwing);
    const double effect = std::max(std::abs((time_more - time_less).base()) / time,
                                   std::abs(dollars_more - dollars_less) / dollars);
    swings.push_back({input.name, time_less, time_more, dollars_less, dollars_more, effect});
  }
  std::stable_sort(swings.begin(), swings.end(),
                   [](const Swing& a, const Swing& b) { return a.effect > b.effect; });
  return swings;
}

}  // namespace pleat
