// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Number formats that are given field by field, several values of a field being a choice.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "application/request/numerics_words.hpp"
#include "application/request/pin_values.hpp"
#include "application/request/typed_fields.hpp"

namespace pleat {

// What the words of one row stand for, in their order.
template <std::size_t I>
[[nodiscard]] auto values_of(const NumericsWords& given) {
  constexpr const auto& field = kPlanField<I>;
  using Value = typename std::remove_cvref_t<decltype(field)>::Value;
  const std::string flag = "--" + std::string(field.typed.flag);
  std::vector<Value> values;
  if constexpr (std::is_same_v<Value, bool>) {
    values = parse_switches(given.by_row[I], flag);
  } else {
    for (const std::string& word : given.by_row[I]) parse_value(word, flag, values.emplace_back());
  }
  return values;
}

// Whether a switch was given, and as nothing but on.
template <auto Member>
[[nodiscard]] bool is_only_on(const NumericsWords& given) {
  return values_of<kPlanRow<Member>>(given) == std::vector<bool>{true};
}

// Attention or head in fp8, which say nothing unless products are narrow.
[[nodiscard]] bool asks_for_narrow(const NumericsWords&);

// ConfigError (bad_request) where that is asked for and none of `all` has narrow products.
void require_narrow(const NumericsWords&, const std::vector<Numerics>& all);

// Each of `all` with each of the given values, but for the precision; those that are the same once.
[[nodiscard]] std::vector<Numerics> with_fields(const NumericsWords&, std::vector<Numerics> all);

void add_distinct(const Numerics&, std::vector<Numerics>& all);

}  // namespace pleat
