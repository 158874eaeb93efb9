// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/numerics.hpp"

#include "core/plan/plan_table.hpp"

namespace pleat {

void Numerics::put_into(Plan& plan) const {
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.chosen_by == ChosenBy::numerics) field.in(plan) = field.in_numerics(*this);
  });
}

Numerics numerics_of(const Plan& plan) {
  Numerics numerics;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.chosen_by == ChosenBy::numerics) {
      field.in_numerics(numerics) = field.in(plan);
    }
  });
  return numerics;
}

bool has_narrow_operands(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16:
      return false;
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
    case Precision::mxfp8:
    case Precision::nvfp4:
      return true;
  }
  return true;
}

DType product_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return DType::fp32;
    case Precision::fp16:
    case Precision::bf16:
      return DType::bf16;
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
      return DType::fp8;
    case Precision::mxfp8:
      return DType::mxfp8;
    case Precision::nvfp4:
      return DType::nvfp4;
  }
  return DType::fp32;
}

}  // namespace pleat
