// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the scopes of CUDA graphs hold of a layer. The simulator prices launches by it; the executor
// captures of it what has nothing but kernels.
#pragma once

#include "core/program/op.hpp"

namespace pleat {

// Is it of a decoder layer's first half (norm, projections, rotation, the core, the sum with the
// residual; recurrences likewise; forward or backward)? Exchanges of weights, gradients and
// microbatches belong to no half.
[[nodiscard]] bool is_of_attention(const Op&);

// none: nothing; attention: that half; router: what chooses experts; partial: all but what lies
// between dispatch and combine, whose rows routing decides; full_iteration: everything.
[[nodiscard]] bool is_in_scope(CudaGraph, const Op&);

}  // namespace pleat
