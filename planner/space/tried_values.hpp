// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fields of a plan of which a search tries each value, or each that is pinned, without a rule of
// their own (TriedAs).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/spec/model.hpp"
#include "planner/search_config.hpp"

namespace pleat {

inline constexpr std::size_t kTriedFields = [] {
  std::size_t count = 0;
  for_each_plan_field([&](auto i) { count += kPlanField<i>.tried != TriedAs::by_rules; });
  return count;
}();

// A value of each of them, in the order of the table.
struct TriedValues {
  TriedValues();  // those of a plain plan
  std::array<std::int32_t, kTriedFields> of{};
  void put_into(Plan&) const;
  // The same, but of those that change nothing but timing the values of `other`.
  [[nodiscard]] TriedValues timed_as(const TriedValues& other) const;
  bool operator==(const TriedValues&) const = default;
};

// All combinations, those of plain plans first. A field that is not pinned keeps the value of a
// plain plan where it is about experts and the model has none.
[[nodiscard]] std::vector<TriedValues> tried_values(const ModelSpec&, const SearchConfig&);

}  // namespace pleat
