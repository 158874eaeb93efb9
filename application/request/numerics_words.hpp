// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Number formats as a search is asked for them: words for each row of the table of a plan's
// fields that changes numbers. Several values are a choice.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/plan/numerics_rows.hpp"

namespace pleat {

// By row, as typed; empty: not given.
struct NumericsWords {
  std::array<std::vector<std::string>, kPlanFieldCount> by_row;
  template <auto... Members>
  [[nodiscard]] const auto& of() const { return by_row[kPlanRow<Members...>]; }
};

}  // namespace pleat
