// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quantisation bit by bit, as tensor cores' libraries define it, in fp32.
#pragma once

#include "kernels/kernel_set.hpp"

namespace pleat::cpu {

// counts: rows of each group; no data: one group.
void quantize(const float* x, View counts, View y, const Quantization&);
void dequantize(View y, float* x);
// Every 16 rows of a group, and the powers of two that the rest is made of, in place.
void hadamard(float* x, std::int64_t rows, std::int64_t cols, View counts);

}  // namespace pleat::cpu
