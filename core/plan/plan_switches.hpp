// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The switches of a plan that are typed, which runs and explanations go through one by one.
#pragma once

#include "core/plan/plan_table.hpp"

namespace pleat {

// Calls visit(row) for each switch that is typed, in order.
template <class Visit>
constexpr void for_each_switch(Visit&& visit) {
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (std::is_same_v<Value, bool> && !field.typed.flag.empty()) visit(i);
  });
}

}  // namespace pleat
