// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/predicted_only.hpp"

#include <fmt/format.h>

#include "core/plan/dispatcher_traits.hpp"

namespace pleat {

std::vector<PredictedOnly> predicted_only(const Plan& plan) {
  std::vector<PredictedOnly> list;
  if (plan.expert.ep * plan.expert.etp == 1) return list;  // no expert exchange
  const DispatcherTraits traits = traits_of(plan.dispatcher);
  if (traits.fused || traits.in_two_steps) {
    list.push_back({"plan.dispatcher", fmt::format("the exchange {} runs as the all-to-all",
                                                   name_of(plan.dispatcher))});
  }
  if (plan.overlap.tile_level) {
    list.push_back({"plan.overlap.tile_level", "exchanges tile by tile run before the products"});
  }
  return list;
}

}  // namespace pleat
