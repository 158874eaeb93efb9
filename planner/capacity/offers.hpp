// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Offers side by side: the cheapest in time, the fastest within a budget, and those that no other
// beats in both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/booking.hpp"

namespace pleat {

struct Offer {
  std::string cluster;
  int gpus = 0;
  std::string problem;   // not empty: there is no booking, and why
  Job job;
  Rates rates{RateSet{}};
  double tokens = 0;     // what this offer trains (more than asked for under the critical-batch rule)
  Booking booking;
};

enum class Confidence { p50, p90 };

struct Goal {
  std::optional<Seconds> deadline = {};
  std::optional<double> budget = {};  // USD
  Confidence confidence = Confidence::p90;
};

[[nodiscard]] Seconds time_of(const Booking&, Confidence);
[[nodiscard]] double dollars_of(const Booking&, Confidence);
[[nodiscard]] bool meets_deadline(const Offer&, const Goal&);  // true without a deadline
[[nodiscard]] bool meets_budget(const Offer&, const Goal&);    // true without a budget

// Indices into the offers. Ties go to the faster, cheaper, then to the earlier one.
struct Choice {
  std::optional<std::size_t> cheapest;  // of those that meet deadline and budget
  std::optional<std::size_t> fastest;   // of the same
  std::vector<std::size_t> front;       // fastest first; no other is at least as good in both
};

// The better of two offers of one size: `filled` instead of the one with the shorter step if it is
// cheaper and in time, or within a budget that the other exceeds, or if the other cannot be booked.
[[nodiscard]] Offer better_of(Offer fastest, Offer filled, const Goal&);

[[nodiscard]] Choice choose(const std::vector<Offer>&, const Goal&);

// Regardless of the goals: the best that is reachable. Empty when no offer can be run.
[[nodiscard]] std::optional<std::size_t> fastest_of(const std::vector<Offer>&, Confidence);
[[nodiscard]] std::optional<std::size_t> cheapest_of(const std::vector<Offer>&, Confidence);

}  // namespace pleat
