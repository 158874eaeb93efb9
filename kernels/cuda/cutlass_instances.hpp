// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/products.hpp"

namespace pleat::cuda::cutlass_grouped {

void forward(Resources&, const Products&);  // A[M,K] B[N,K]^T, bf16 to bf16
void dgrad(Resources&, const Products&);    // A[M,K] B[K,N], bf16 to bf16
void wgrad(Resources&, const Products&);    // A[K,M]^T B[K,N], bf16 to fp32

}  // namespace pleat::cuda::cutlass_grouped
