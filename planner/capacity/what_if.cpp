// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/what_if.hpp"

namespace pleat {

WhatIf::Of what_if(const WhatIf& asked, std::size_t place, const Offer& offer,
                   const StepAtImbalance& step) {
  WhatIf::Of result;
  result.offer = place;
  for (const double load : asked.imbalance) {
    Job job = offer.job;
    bool fits = true;
    if (load != 1) {
      const StepAtLoad at = step(load);
      job.step = at.step;
      fits = at.fits;
    }
    result.fits.push_back(fits);
    auto& row = result.finish.emplace_back();
    for (const double factor : asked.tokens) {
      const Booking b = book(job, offer.rates, offer.tokens * factor);
      row.push_back(b.problem.empty() ? std::optional(b.finish) : std::nullopt);
    }
  }
  return result;
}

}  // namespace pleat
