// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Offers side by side: the cheapest that meets the deadline, the fastest within the budget, and
// those that no other offer beats in both time and money.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/booking.hpp"

namespace pleat {

struct Offer {
  std::string cluster;
  std::string cluster_words;  // as it was asked for: its file, perhaps; empty: by its name
  int gpus = 0;
  std::string routing_words;  // of other commands, " --routing aux-loss"
  bool first_look = false;  // its search has not ended
  bool proven = false;      // no plan of the search's space is better
  std::string problem;   // why there is no booking; empty: there is one
  Job job;
  Rates rates{RateSet{}};
  double tokens = 0;     // to train; under the critical-batch rule more than were asked for
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

// Which of the offers to take, by their places in the list. Of two equally cheap offers the faster
// one is taken, of two equally fast ones the cheaper, else the earlier.
struct Choice {
  std::optional<std::size_t> cheapest;  // of the offers that meet deadline and budget
  std::optional<std::size_t> fastest;   // of these, too
  std::vector<std::size_t> front;       // offers that no other beats in both, fastest first
};

// The better of two offers of one size. `fastest` has the shorter step, `filled` fills its domains.
// `filled` is better if it is cheaper and still in time, if it is within the budget and `fastest`
// is not, or if `fastest` cannot be booked.
[[nodiscard]] Offer better_of(Offer fastest, Offer filled, const Goal&);

[[nodiscard]] Choice choose(const std::vector<Offer>&, const Goal&);

// The best that is reachable, whether or not it meets the goals. Empty when no offer can be run.
[[nodiscard]] std::optional<std::size_t> fastest_of(const std::vector<Offer>&, Confidence);
[[nodiscard]] std::optional<std::size_t> cheapest_of(const std::vector<Offer>&, Confidence);

}  // namespace pleat
