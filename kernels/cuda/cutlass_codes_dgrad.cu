// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cutlass_codes.cuh"

namespace pleat::cuda::cutlass_grouped {

void codes_dgrad(Resources& r, const NarrowGroups& p) {
  multiply<CodesInstance<cutlass::float_e5m2_t, cutlass::float_e4m3_t, cutlass::bfloat16_t, false,
                         false>>(r, p);
}

}  // namespace pleat::cuda::cutlass_grouped
