// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the prices of offers have in common: on demand or reserved, of which dates.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/offers.hpp"

namespace pleat {

struct PriceBasis {
  std::vector<std::string> bases;    // "on demand"; several: offers are not alike
  std::string oldest, newest;        // dates of the sources; empty: none is dated
  std::vector<std::string> assumed;  // clusters without a published price
  std::vector<std::string> given;    // clusters with a price of one's own
};
[[nodiscard]] PriceBasis price_basis(const std::vector<Offer>&);

// "prices on demand as of 2026 to 2026-03-17; assumed: gb300-nvl72".
[[nodiscard]] std::string price_basis_text(const PriceBasis&);

}  // namespace pleat
