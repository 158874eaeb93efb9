// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/products.hpp"

namespace pleat::cuda {

class GroupedLibrary;

// The fastest of what this build and machine have and the operands allow: cuBLASLt's, CUTLASS's,
// our tensor-core kernel, or the one for any types.
void multiply_groups(Resources&, GroupedLibrary&, const Products&);

// CUTLASS's wgmma kernels (sm_90a), compiled only where its headers were found. False where they
// are missing or operands do not fit: nothing was done.
[[nodiscard]] bool multiply_groups_cutlass(Resources&, const Products&);

}  // namespace pleat::cuda
