// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In place of CUTLASS: none of its bf16 kernels, and loops over grouped codes as narrow_layout.hpp
// says they lie.
#include "core/numerics/small_float.hpp"
#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/products.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"
#include "tests/kernels/emulation/include/cuda_bf16.h"

namespace pleat::cuda {
namespace {

int products = 0;

void store(const Strided& c, std::int64_t at, float sum, bool accumulate) {
  if (c.dtype == DType::bf16) {
    static_cast<__nv_bfloat16*>(c.data)[at] = static_cast<__nv_bfloat16>(sum);
  } else {
    float& to = static_cast<float*>(c.data)[at];
    to = (accumulate ? to : 0) + sum;
  }
}

}  // namespace

int emulated_grouped_codes() { return products; }

bool multiply_groups_cutlass(Resources&, const Products&) { return false; }
bool has_code_kernels(const Resources&) { return emulated_capability / 10 == 9; }

void multiply_codes(Resources&, const NarrowGroups& p) {
  ++products;
  const bool by_depth = p.grouping == Products::Grouping::depth;
  const bool blocks = p.scales == NarrowGroups::Scales::blocks;
  std::int64_t row = 0, strip = 0;
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const std::int64_t count = p.counts[g], strips = (count + kStripRows - 1) / kStripRows;
    const std::int64_t m = by_depth ? p.m : count, k = by_depth ? strips * kStripRows : p.k;
    const auto* const a = p.a + (by_depth ? strip * kStripRows : row * p.a_ld);
    const auto* const b = p.b + (by_depth ? strip * kStripRows : g * p.b_step);
    const std::int64_t across = p.k / kStripRows;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        float sum = 0;
        for (std::int64_t q = 0; q < k; ++q) {
          float scale = 1;
          if (blocks) {
            const std::int64_t kb = q / kStripRows;
            scale = by_depth
                        ? p.scales_a[(strip + kb) * p.m + i] * p.scales_b[(strip + kb) * p.n + j]
                        : p.scales_a[(row + i) * across + kb] *
                              p.scales_b[(g * (p.n / 128) + j / 128) * across + kb];
          }
          sum +=
              scale * decode(p.format_a, a[i * p.a_ld + q]) * decode(p.format_b, b[j * p.b_ld + q]);
        }
        const std::int64_t first = by_depth ? g * p.c_step : row * p.c.row;
        store(p.c, first + i * p.c.row + j, blocks ? sum : p.factors[g] * sum, p.accumulate);
      }
    }
    row += count;
    strip += strips;
  }
}

}  // namespace pleat::cuda
