// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The rows of a plan's table that change numbers, in the order in which users see them.
#pragma once

#include <string>
#include <string_view>
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
inline constexpr bool kIsSwitch = std::is_same_v<typename std::remove_cvref_t<Field>::Value, bool>;

// One field's value: the row, and numerics whose other fields say nothing.
struct NumericsValue {
  std::size_t row = 0;
  Numerics holder;
};
[[nodiscard]] bool has(const Numerics&, const NumericsValue&);
void put(const NumericsValue&, Numerics&);

// "optimizer.exp_avg".
[[nodiscard]] std::string_view path_of(const NumericsValue&);
// "bf16", "true"; of a type that is not stated "".
[[nodiscard]] std::string value_text(const NumericsValue&);

// The rows in which `other` is not `numerics`, with the values of `other`; in the order of the
// help. A reduction of gradients that is not stated is one in the type that they are kept in.
[[nodiscard]] std::vector<NumericsValue> differences(const Numerics& numerics,
                                                     const Numerics& other);

}  // namespace pleat
