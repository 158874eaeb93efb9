// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What each narrow precision makes of a product's operands.
#pragma once

#include "core/plan/plan.hpp"
#include "kernels/quantized.hpp"

namespace pleat {

enum class ProductOperand { activation, gradient, weight };

// Of the copy for products over columns, or over rows (`column`). Random bits, where it takes any,
// are those of `key`.
//   fp8        one scale a tensor, from its own largest number; gradients in E5M2
//   fp8_delayed  the same, and what is no weight has scales from the amax of earlier steps, which
//              `quantize` adds (backend/execute/delayed_scaling.hpp)
//   fp8_block  E4M3, powers of two: 1 x 128 along the product, weights 128 x 128
//   mxfp8      E4M3 with a power of two for 32 along the product
//   nvfp4      E2M1 with E4M3 for 16 along the product, weights 16 x 16, one fp32 number a tensor;
//              what is multiplied over tokens is turned by Hadamard matrices first, gradients are
//              rounded stochastically (arXiv:2509.25149)
[[nodiscard]] Quantization quantization_of(Precision, ProductOperand, bool column, PhiloxKey key);

}  // namespace pleat
