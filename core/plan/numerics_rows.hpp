// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The rows of a plan's table that change numbers, in the order in which users see them.
#pragma once

#include <vector>

#include "core/plan/numerics.hpp"
#include "core/plan/plan_table.hpp"

namespace pleat {

// The rows in the order of the help: types and choices first, then switches.
[[nodiscard]] std::vector<std::size_t> numerics_rows();

// Calls visit(std::integral_constant<std::size_t, I>) for each of them, in that order.
template <class Visit>
void for_each_numerics_field(const Visit& visit) {
  for (const std::size_t row : numerics_rows()) {
    for_each_plan_field([&](auto i) {
      if constexpr (kPlanField<i>.chosen_by == ChosenBy::numerics) {
        if (i == row) visit(i);
      }
    });
  }
}

template <class Field>
inline constexpr bool kIsSwitch =
    std::is_same_v<typename std::remove_cvref_t<Field>::Value, bool>;

}  // namespace pleat
