// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which grouped products CUTLASS's instances take.
#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/cutlass_instances.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/products.hpp"

namespace pleat::cuda {
namespace {

bool hopper(const Resources& r) {
  int major = 0;
  PLEAT_CUDA_CHECK(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, r.device().index()));
  return major == 9;
}

bool fits(const Strided& s) {
  return s.dtype == DType::bf16 && aligned16(s.data) && (s.row == 1 || s.col == 1) &&
         (s.row == 1 ? s.col : s.row) % 8 == 0;
}

}  // namespace

bool multiply_groups_cutlass(Resources& r, const Products& p) {
  if (p.counts == nullptr || p.groups > 1024 || p.m == 0 || p.n == 0 || p.k == 0) return false;
  if (!fits(p.a) || !fits(p.b) || !aligned16(p.c.data) || p.c.row % 8 != 0) return false;
  if (p.group_step % 8 != 0 || p.m > INT32_MAX || p.n > INT32_MAX || p.k > INT32_MAX) return false;
  if (!hopper(r)) return false;
  if (p.grouping == Products::Grouping::rows) {
    if (p.a.col != 1 || p.c.dtype != DType::bf16 || p.accumulate) return false;
    if (p.b.row == 1) {
      cutlass_grouped::forward(r, p);
    } else {
      cutlass_grouped::dgrad(r, p);
    }
    return true;
  }
  if (p.a.row != 1 || p.b.col != 1 || p.c.dtype != DType::fp32 || p.m % 8 != 0) return false;
  cutlass_grouped::wgrad(r, p);
  if (!p.accumulate) clear_empty_groups(r, p);
  return true;
}

bool has_code_kernels(const Resources& r) { return hopper(r); }

void multiply_codes(Resources& r, const NarrowGroups& p) {
  using namespace cutlass_grouped;
  const bool by_depth = p.grouping == Products::Grouping::depth;
  if (p.scales == NarrowGroups::Scales::blocks) {
    (by_depth ? blocks_wgrad : blocks_forward)(r, p);
  } else if (by_depth) {
    PLEAT_ASSERT(p.format_a == pleat::SmallFloat::e5m2);
    codes_wgrad(r, p);
  } else {
    (p.format_a == pleat::SmallFloat::e5m2 ? codes_dgrad : codes_forward)(r, p);
  }
  if (by_depth && !p.accumulate) {
    clear_empty_groups(
        r, {.c = p.c, .groups = p.groups, .counts = p.counts, .group_step = p.c_step});
  }
}

}  // namespace pleat::cuda
