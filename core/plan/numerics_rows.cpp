// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/numerics_rows.hpp"

#include <algorithm>

namespace pleat {
namespace {

// Those that are not here come last.
constexpr std::array<std::string_view, 12> kNumericsOrder{
    "precision", "main-grads-dtype", "main-params-dtype", "exp-avg-dtype", "exp-avg-sq-dtype",
    "grad-reduce-dtype", "optimizer", "fp8-attention", "fp8-head", "fp8-dispatch", "fp8-combine",
    "fp8-params"};

}  // namespace

std::vector<std::size_t> numerics_rows() {
  struct Place {
    bool is_switch;
    std::size_t in_order, row;
    auto operator<=>(const Place&) const = default;
  };
  std::vector<Place> places;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.chosen_by == ChosenBy::numerics) {
      const auto at = std::ranges::find(kNumericsOrder, field.typed.flag);
      places.push_back({kIsSwitch<decltype(field)>,
                        static_cast<std::size_t>(at - kNumericsOrder.begin()), i});
    }
  });
  std::ranges::sort(places);
  std::vector<std::size_t> rows;
  for (const Place& p : places) rows.push_back(p.row);
  return rows;
}

}  // namespace pleat
