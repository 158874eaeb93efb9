// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Number formats as a search is asked for them: an option for each row of the table of a plan's
// fields that changes numbers. Several values are a choice.
#pragma once

#include <CLI/App.hpp>
#include <array>
#include <string>
#include <vector>

#include "core/plan/plan_table.hpp"

namespace pleat::cli {

// By row, as typed; empty: not given.
struct NumericsWords {
  std::array<std::vector<std::string>, kPlanFieldCount> by_row;
  template <auto... Members>
  [[nodiscard]] const auto& of() const { return by_row[kPlanRow<Members...>]; }
};

void add_numerics_options(CLI::App&, NumericsWords&);

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

}  // namespace pleat::cli
