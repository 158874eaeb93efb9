// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The only values that a search may choose, one entry for each field of a plan that may be pinned.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "core/plan/pinned_fields.hpp"

namespace pleat {

// The values that a search may choose for a field. Empty: the field is free.
template <class T>
struct Pinned {
  std::vector<T> values;
  Pinned() = default;
  Pinned(T value) : values{std::move(value)} {}
  Pinned(std::initializer_list<T> list) : values(list) {}
  Pinned(std::vector<T> list) : values(std::move(list)) {}
  explicit operator bool() const { return !values.empty(); }
  [[nodiscard]] bool empty() const { return values.empty(); }
  [[nodiscard]] auto begin() const { return values.begin(); }
  [[nodiscard]] auto end() const { return values.end(); }
  [[nodiscard]] bool only(T value) const { return values == std::vector<T>{value}; }
  // The values in rising order, each once.
  [[nodiscard]] std::vector<T> sorted() const {
    std::vector<T> list = values;
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
    return list;
  }
  // These, or `all` where the field is free.
  [[nodiscard]] std::vector<T> sorted_or(std::vector<T> all) const {
    return empty() ? std::move(all) : sorted();
  }
  void reset() { values.clear(); }
};

using PlanPins = PinsOf<Pinned>;

// Pins what the plan chooses among few: its orders, ways of exchange and switches, not its sizes.
void pin_choices_of(const Plan&, PlanPins&);

}  // namespace pleat
