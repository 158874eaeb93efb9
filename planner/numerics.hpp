// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats that a plan computes, exchanges and keeps state in.
#pragma once

#include "core/plan/plan.hpp"

namespace pleat {

struct Numerics {
  Precision precision = Precision::bf16;
  OptimizerPlan optimizer;
  bool fp8_attention = false, fp8_head = false;
  bool fp8_dispatch = false, fp8_combine = false, fp8_params = true;
  void put_into(Plan&) const;  // the optimizer state of the plan goes back to the GPU
  bool operator==(const Numerics&) const = default;
};
// Without where the optimizer state lies, which is a memory choice.
[[nodiscard]] Numerics numerics_of(const Plan&);

}  // namespace pleat
