// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of the table of a plan's fields that a search may be pinned in: by number, by flag, and an
// entry of any kind for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/plan/plan_table.hpp"

namespace pleat {

// Calls visit(std::integral_constant<std::size_t, I>) for each row that may be pinned, in order.
template <class Visit>
constexpr void for_each_pin(Visit&& visit) {
  for_each_plan_field([&](auto i) {
    if constexpr (kPlanField<i>.may_be_pinned()) visit(i);
  });
}

// A flag as an argument of a template: kPinRow<"tp">.
template <std::size_t Length>
struct FlagText {
  char text[Length];
  consteval FlagText(const char (&flag)[Length]) { std::copy_n(flag, Length, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, Length - 1}; }
};

// The number of the row of a field that may be pinned; with a flag that no pin has, what uses it
// does not compile.
template <FlagText Flag>
inline constexpr std::size_t kPinRow = [] {
  std::size_t row = kPlanFieldCount;
  for_each_pin([&](auto i) {
    if (kPlanField<i>.pin_flag() == Flag.view()) row = i;
  });
  return row;
}();

// An entry of type Of<value> for each row that may be pinned, an empty one for the others.
template <template <class> class Of, class Rows = std::make_index_sequence<kPlanFieldCount>>
struct PinsOf;
template <template <class> class Of, std::size_t... I>
struct PinsOf<Of, std::index_sequence<I...>> {
  struct None {};
  template <std::size_t Row>
  using At =
      std::conditional_t<kPlanField<Row>.may_be_pinned(),
                         Of<typename std::remove_cvref_t<decltype(kPlanField<Row>)>::Value>, None>;
  std::tuple<At<I>...> by_row;
  template <FlagText Flag>
  [[nodiscard]] auto& of() {
    return std::get<kPinRow<Flag>>(by_row);
  }
  template <FlagText Flag>
  [[nodiscard]] const auto& of() const {
    return std::get<kPinRow<Flag>>(by_row);
  }
};

}  // namespace pleat
