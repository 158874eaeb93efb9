// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A change of one field of a plan, and all changes that a field's row in the table of fields
// allows. A field that is new there takes part by itself.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "planner/problem.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// `value`: a number, the number of a choice, or of a set one bit for each module.
struct PlanChange {
  std::uint8_t row = 0;     // of the table of fields
  std::int16_t stage = -1;  // a stage's own value; -1: the plan's
  double value = 0;
  bool operator==(const PlanChange&) const = default;
};

// Of a share between 0 and 1: as little as fits. Each plan has its own (neighbour_prices.hpp).
inline constexpr double kLeastShare = -1;
[[nodiscard]] inline bool is_least_share(const PlanChange& c) { return c.value == kLeastShare; }

// Whether the value is close to that of the plan, or a small power of two. True of every value that
// is no whole number.
[[nodiscard]] bool is_near(const PlanChange&, const Plan&);

// Whether the field is one of the mesh's degrees.
[[nodiscard]] bool is_of_degrees(const PlanChange&);

// Sets the field and nothing else.
void put(const PlanChange&, Plan&);

// Changes of the fields that a search chooses. Whole numbers: `whole_numbers`, as far as the row's
// domain has them. Choices and switches: every other one. Sets of modules: one module more or less,
// and none. Shares: nothing, all, as little as fits. With `by_stage` also what a single stage
// recomputes and offloads. Most of them break a rule.
[[nodiscard]] std::vector<PlanChange> changes_of(const Plan&, bool by_stage,
                                                 const std::vector<int>& whole_numbers);

// Changes of sets of modules by two modules.
[[nodiscard]] std::vector<PlanChange> wider_changes_of_sets(const Plan&);

// Numbers that a field of this problem may want: up to 64, and the divisors of the GPUs, the batch,
// the experts and the layers.
[[nodiscard]] std::vector<int> whole_numbers_of(const Problem&, int gpus);

// What the search chose differently in `to`: "cuda_graph partial -> router". Sizes that follow from
// others are left out.
[[nodiscard]] std::vector<FieldDifference> differences(const Plan& from, const Plan& to);

}  // namespace pleat
