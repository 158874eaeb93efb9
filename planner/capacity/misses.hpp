// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What to say when no offer meets the goals: by how much they are missed, and for each way to
// change the question the smallest change that helps.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/offers.hpp"

namespace pleat {

struct Miss {
  std::string what;                  // "the fastest offer, …, needs 71.2 days: 11.2 too many"
  std::vector<std::string> changes;  // "--deadline 71.2d", "12.6T tokens instead of 15T (…)"
};

// `larger` has offers of more GPUs than were asked for, which are tried because the goals are
// missed. The result is empty when no offer can be run at all.
[[nodiscard]] std::vector<Miss> misses_of(const std::vector<Offer>& offers,
                                          const std::vector<Offer>& larger, const Goal&,
                                          double tokens);

// The most tokens with which the offer meets the goals; 0 when it never does.
[[nodiscard]] double tokens_within(const Offer&, const Goal&);

}  // namespace pleat
