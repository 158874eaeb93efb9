// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms and SwiGLU whose result nothing reads but a quantize make the codes themselves: the wide
// result is neither written nor read, and has no memory. The numbers are the same to the bit.
#pragma once

#include <vector>

#include "core/program/layer_program.hpp"

namespace pleat {

// After the passes that decide what is saved, computed again or sent to the host: what they keep
// wide has other readers and stays. Pleat's kernels alone do this.
void fuse_quantization(LayerProgram&, const Plan&);

// Whether the operation is such a one, and what it stands for, one after the other: the sum before
// a norm, the norm or SwiGLU, and `quantize` of the result, which is `attr.source`.
[[nodiscard]] bool makes_codes(const Op&);
[[nodiscard]] std::vector<Op> taken_apart(const Op&);

}  // namespace pleat
