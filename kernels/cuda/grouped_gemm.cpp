// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/grouped_gemm.hpp"

#include "core/diagnostics.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/narrow_groups.hpp"

namespace pleat::cuda {

void multiply_groups(Resources& r, GroupedLibrary& library, const Products& p) {
  if (library.multiply(p)) return;
  if (multiply_groups_cutlass(r, p)) return;
  if (multiply_bf16(r, p)) return;
  multiply_any(r, p);
}

#ifndef PLEAT_WITH_CUTLASS
bool multiply_groups_cutlass(Resources&, const Products&) { return false; }
bool has_code_kernels(const Resources&) { return false; }
void multiply_codes(Resources&, const NarrowGroups&) {
  PLEAT_ASSERT(!"this build has no CUTLASS");
}
#endif

}  // namespace pleat::cuda
