// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/plan_pins.hpp"

#include <type_traits>

namespace pleat {

void pin_choices_of(const Plan& plan, PlanPins& pins) {
  for_each_pin([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (field.chosen_by == ChosenBy::search &&
                  (std::is_enum_v<Value> || std::is_same_v<Value, bool>)) {
      std::get<i>(pins.by_row) = field.in(plan);
    }
  });
}

}  // namespace pleat
