// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/quantization_recipe.hpp"

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Blocks of `length` along the product, or squares.
Quantization blocks(SmallFloat format, ScaleRule rule, std::int64_t length, bool square,
                    bool column) {
  Quantization q{.format = format, .rule = rule, .block_rows = length, .block_cols = length};
  if (square) return q;
  (column ? q.block_cols : q.block_rows) = 1;
  return q;
}

}  // namespace

Quantization quantization_of(Precision precision, ProductOperand operand, bool column,
                             PhiloxKey key) {
  const bool weight = operand == ProductOperand::weight;
  const bool gradient = operand == ProductOperand::gradient;
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16:
      break;
    case Precision::fp8:
    case Precision::fp8_delayed:
      return {.format = gradient ? SmallFloat::e5m2 : SmallFloat::e4m3};
    case Precision::fp8_block:
      return blocks(SmallFloat::e4m3, ScaleRule::power_of_two, 128, weight, column);
    case Precision::mxfp8:
      return blocks(SmallFloat::e4m3, ScaleRule::e8m0, 32, false, column);
    case Precision::nvfp4: {
      Quantization q = blocks(SmallFloat::e2m1, ScaleRule::nvfp4, 16, weight, column);
      q.hadamard = column && !weight;
      q.stochastic = gradient;
      q.key = key;
      return q;
    }
  }
  PLEAT_ASSERT(!"no recipe");
  return {};
}

}  // namespace pleat
