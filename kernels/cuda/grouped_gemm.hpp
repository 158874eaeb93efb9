// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/products.hpp"

namespace pleat::cuda {

// The fastest of what this build has and the operands allow: CUTLASS, our tensor-core kernel, or the
// one for any types.
void multiply_groups(Resources&, const Products&);

// CUTLASS's wgmma kernels (sm_90a), compiled only where its headers were found. False where they are
// missing or operands do not fit: nothing was done.
[[nodiscard]] bool multiply_groups_cutlass(Resources&, const Products&);

}  // namespace pleat::cuda
