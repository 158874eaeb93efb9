// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats a plan computes, exchanges and keeps state in: what changes the numbers that
// training gives, and is therefore never the planner's to choose.
#pragma once

#include "core/plan/plan.hpp"

namespace pleat {

// Fields of a plan by the same names; rows of plan_table.hpp tell which.
struct Numerics {
  Precision precision = Precision::bf16;
  OptimizerPlan optimizer;  // but where its state lies, which changes no numbers
  bool fp8_attention = false, fp8_head = false;
  bool fp8_dispatch = false, fp8_combine = false, fp8_params = true;
  void put_into(Plan&) const;
  bool operator==(const Numerics&) const = default;
};
[[nodiscard]] Numerics numerics_of(const Plan&);

// Whether products read operands narrower than 16 bits, so that fp8_attention and fp8_head say
// something.
[[nodiscard]] bool has_narrow_operands(Precision);

// What matrix products read under it: their operands' format.
[[nodiscard]] DType product_type(Precision);

}  // namespace pleat
