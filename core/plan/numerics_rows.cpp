// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/numerics_rows.hpp"

#include <algorithm>

#include "core/plan/plan_words.hpp"

namespace pleat {
namespace {

// Those that are not here come last.
constexpr std::array<std::string_view, 12> kNumericsOrder{
    "precision",        "main-grads-dtype",  "main-params-dtype", "exp-avg-dtype",
    "exp-avg-sq-dtype", "grad-reduce-dtype", "optimizer",         "fp8-attention",
    "fp8-head",         "fp8-dispatch",      "fp8-combine",       "fp8-params"};

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
      places.push_back(
          {kIsSwitch<decltype(field)>, static_cast<std::size_t>(at - kNumericsOrder.begin()), i});
    }
  });
  std::ranges::sort(places);
  std::vector<std::size_t> rows;
  for (const Place& p : places) rows.push_back(p.row);
  return rows;
}

namespace {

// Calls visit with the row of a value.
template <class Visit>
void with_row(std::size_t row, const Visit& visit) {
  for_each_plan_field([&](auto i) {
    if constexpr (kPlanField<i>.chosen_by == ChosenBy::numerics) {
      if (i == row) visit(kPlanField<i>);
    }
  });
}

}  // namespace

bool has(const Numerics& numerics, const NumericsValue& value) {
  bool same = false;
  with_row(value.row, [&](const auto& field) {
    same = field.in_numerics(numerics) == field.in_numerics(value.holder);
  });
  return same;
}

void put(const NumericsValue& value, Numerics& numerics) {
  with_row(value.row, [&](const auto& field) {
    field.in_numerics(numerics) = field.in_numerics(value.holder);
  });
}

std::string_view path_of(const NumericsValue& value) {
  std::string_view path;
  with_row(value.row, [&](const auto& field) { path = field.path; });
  return path;
}

namespace {

std::string told(bool on) { return on ? "true" : "false"; }
std::string told(DType type) { return std::string(name_of(type)); }
std::string told(const std::optional<DType>& type) { return type ? told(*type) : ""; }
template <class Enum>
requires std::is_enum_v<Enum> std::string told(Enum value) { return std::string(word_of(value)); }

}  // namespace

std::string value_text(const NumericsValue& value) {
  std::string text;
  with_row(value.row, [&](const auto& field) { text = told(field.in_numerics(value.holder)); });
  return text;
}

std::vector<NumericsValue> differences(const Numerics& numerics, const Numerics& other) {
  std::vector<NumericsValue> list;
  for (const std::size_t row : numerics_rows()) {
    const NumericsValue value{row, other};
    if (has(numerics, value)) continue;
    const auto sent = [](const Numerics& n) {
      return n.optimizer.grad_reduce.value_or(n.optimizer.main_grads);
    };
    const bool reduction = row == kPlanRow<&Plan::optimizer, &OptimizerPlan::grad_reduce>;
    if (reduction && sent(numerics) == sent(other)) continue;
    list.push_back(value);
  }
  return list;
}

}  // namespace pleat
