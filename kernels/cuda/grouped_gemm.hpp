// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/products.hpp"

namespace pleat::cuda {

class GroupedLibrary;

// Takes the fastest kernel that exists here and fits the operands: cuBLASLt's, CUTLASS's, our own
// for tensor cores, or our own for any types.
void multiply_groups(Resources&, GroupedLibrary&, const Products&);

// CUTLASS's wgmma kernels (sm_90a), compiled only where its headers were found. False if they
// are missing or the operands do not fit; nothing was done then.
[[nodiscard]] bool multiply_groups_cutlass(Resources&, const Products&);

}  // namespace pleat::cuda
