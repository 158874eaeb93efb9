// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/grouped_gemm.hpp"

namespace pleat::cuda {

void multiply_groups(Resources& r, const Products& p) {
  if (multiply_groups_cutlass(r, p)) return;
  if (multiply_bf16(r, p)) return;
  multiply_any(r, p);
}

#ifndef PLEAT_WITH_CUTLASS
bool multiply_groups_cutlass(Resources&, const Products&) { return false; }
#endif

}  // namespace pleat::cuda
