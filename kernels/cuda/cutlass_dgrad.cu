// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cutlass_grouped.cuh"

namespace pleat::cuda::cutlass_grouped {

void dgrad(Resources& r, const Products& p) {
  multiply<Instance<cutlass::layout::RowMajor, cutlass::layout::RowMajor, cutlass::bfloat16_t>>(r,
                                                                                                p);
}

}  // namespace pleat::cuda::cutlass_grouped
