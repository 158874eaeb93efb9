// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention whose products read 8 bits: what they read is rounded to a narrow type first. The
// probabilities, and their gradients, stay in fp32 between the products.
#pragma once

#include "kernels/kernel_set.hpp"

namespace pleat::cpu {

// Rounds each head's columns of `c.x`, fp32, in place. `math` fp8: one scale for a head in each of
// the `batch` runs of rows, E4M3, gradients E5M2. mxfp8: E4M3 with a scale for 32 columns of a row.
void round_heads(const HeadColumns& c, std::int64_t batch, std::int64_t heads, DType math,
                 bool gradient);

}  // namespace pleat::cpu
