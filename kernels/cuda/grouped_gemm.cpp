// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/products.hpp"

#include "core/diagnostics.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/implementation.hpp"
#include "kernels/cuda/narrow_layout.hpp"

namespace pleat::cuda {

void multiply_groups(Resources& r, GroupedLibrary& library, const Products& p) {
  if (library.multiply(p)) return note_taken_by(Implementation::cublaslt_groups);
  if (multiply_groups_cutlass(r, p)) return note_taken_by(Implementation::cutlass);
  if (!has_cutlass() && p.a.dtype == DType::bf16 && capability(r) == 90) {
    note_refusal("grouped products in bf16 go to our own kernel", "CUTLASS is not built in");
  }
  if (multiply_bf16(r, p)) return note_taken_by(Implementation::own_tensor_cores);
  multiply_any(r, p);
  note_taken_by(Implementation::own);
}

#ifdef PLEAT_WITH_CUTLASS
bool has_cutlass() { return true; }
#else
bool has_cutlass() { return false; }
#endif

#ifndef PLEAT_WITH_CUTLASS
bool multiply_groups_cutlass(Resources&, const Products&) { return false; }
bool has_code_kernels(const Resources&) { return false; }
void multiply_codes(Resources&, const NarrowGroups&) {
  PLEAT_ASSERT(!"this build has no CUTLASS");
}
#endif

}  // namespace pleat::cuda
