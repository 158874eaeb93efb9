// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which grouped products CUTLASS's instances take.
#include "kernels/cuda/cutlass_instances.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/grouped_gemm.hpp"

namespace pleat::cuda {
namespace {

// Row i of a gradient of which every expert has `rows`: 0 where the expert has no tokens.
struct ClearEmpty {
  const std::int32_t* counts;
  float* c;
  std::int64_t group_step;
  __device__ void operator()(std::int64_t group, std::int64_t col, std::int64_t count) const {
    if (counts[group] != 0) return;
    for (int i = 0; i < kPack && i < count; ++i) c[group * group_step + col + i] = 0;
  }
};

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
  if (!p.accumulate) {
    for_row_packs(r, p.groups, p.group_step,
                  ClearEmpty{p.counts, static_cast<float*>(p.c.data), p.group_step});
  }
  return true;
}

}  // namespace pleat::cuda
