// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/products.hpp"

namespace pleat::cuda::cutlass_grouped {

void forward(Resources&, const Products&);  // A[M,K] B[N,K]^T, bf16 to bf16
void dgrad(Resources&, const Products&);    // A[M,K] B[K,N], bf16 to bf16
void wgrad(Resources&, const Products&);    // A[K,M]^T B[K,N], bf16 to fp32

// One scale a group
void codes_forward(Resources&, const NarrowGroups&);  // E4M3, E4M3 to bf16
void codes_dgrad(Resources&, const NarrowGroups&);    // E5M2, E4M3 to bf16
void codes_wgrad(Resources&, const NarrowGroups&);    // E5M2, E4M3 to fp32, by depth
// Blocks of scales, E4M3
void blocks_forward(Resources&, const NarrowGroups&);  // to bf16
void blocks_wgrad(Resources&, const NarrowGroups&);    // to fp32, by depth

}  // namespace pleat::cuda::cutlass_grouped
