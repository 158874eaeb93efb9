// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/tried_values.hpp"

#include <algorithm>
#include <type_traits>

#include "core/plan/plan_words.hpp"

namespace pleat {
namespace {

// Calls visit(row, number among the fields of which each value is tried).
template <class Visit>
void for_each_tried(const Visit& visit) {
  std::size_t number = 0;
  for_each_plan_field([&](auto i) {
    if constexpr (kPlanField<i>.tried != TriedAs::by_rules) visit(i, number++);
  });
}

template <class Value>
std::vector<std::int32_t> values_of(const Pinned<Value>& pin, Value plain, bool possible) {
  std::vector<std::int32_t> all{static_cast<std::int32_t>(plain)};
  if (pin) {
    all.clear();
    for (const Value value : pin) all.push_back(static_cast<std::int32_t>(value));
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
  } else if (possible) {
    const auto add = [&](auto value) {
      if (value != plain) all.push_back(static_cast<std::int32_t>(value));
    };
    if constexpr (std::is_same_v<Value, bool>)
      add(!plain);
    else if constexpr (std::is_enum_v<Value>)
      std::ranges::for_each(kAll<Value>, add);
  }
  return all;
}

}  // namespace

TriedValues::TriedValues() {
  static const Plan plain;
  for_each_tried([&](auto i, std::size_t number) {
    of[number] = static_cast<std::int32_t>(kPlanField<i>.in(plain));
  });
}

void TriedValues::put_into(Plan& plan) const {
  for_each_tried([&](auto i, std::size_t number) {
    using Value = typename std::remove_cvref_t<decltype(kPlanField<i>)>::Value;
    kPlanField<i>.in(plan) = static_cast<Value>(of[number]);
  });
}

TriedValues TriedValues::timed_as(const TriedValues& other) const {
  TriedValues same = *this;
  for_each_tried([&](auto i, std::size_t number) {
    if (kPlanField<i>.tried == TriedAs::each_timing) same.of[number] = other.of[number];
  });
  return same;
}

std::vector<TriedValues> tried_values(const ModelSpec& model, const SearchConfig& config) {
  std::vector<TriedValues> all{TriedValues{}};
  for_each_tried([&](auto i, std::size_t number) {
    const bool of_experts = kPlanField<i>.parts.bits == MemoParts(MemoPart::moe_layers).bits;
    const bool possible = kPlanField<i>.tried != TriedAs::when_pinned &&
                          (model.moe.has_value() || !of_experts);
    std::vector<TriedValues> longer;
    for (const TriedValues& one : all) {
      const auto& pin = std::get<i>(config.pins.by_row);
      for (const std::int32_t value : values_of(pin, kPlanField<i>.in(Plan()), possible)) {
        longer.push_back(one);
        longer.back().of[number] = value;
      }
    }
    all = std::move(longer);
  });
  return all;
}

}  // namespace pleat
