// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/narrow_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {
namespace {

float value(View x, std::int64_t i) {
  if (x.dtype == DType::fp32) return x.f32()[i];
  return to_float(static_cast<const Bf16*>(x.data)[i]);
}

void set_value(View x, std::int64_t i, float v) {
  if (x.dtype == DType::fp32) x.f32()[i] = v;
  else static_cast<Bf16*>(x.data)[i] = to_bf16(v);
}

// visit(row, first column, columns, number of the block in its row) of all blocks.
template <class Visit>
void for_each_block(View x, Visit visit) {
  PLEAT_ASSERT(x.dtype == DType::fp32 || x.dtype == DType::bf16);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t b = 0; b < narrow_row_blocks(x.cols); ++b) {
      const std::int64_t first = b * kNarrowRowBlock;
      visit(r, first, std::min(kNarrowRowBlock, x.cols - first), b);
    }
  }
}

}  // namespace

void CpuKernels::pack_rows(View x, std::byte* packed) {
  const std::int64_t bytes = narrow_row_bytes(x.cols);
  const float top = largest(SmallFloat::e4m3);
  for_each_block(x, [&](std::int64_t r, std::int64_t first, std::int64_t n, std::int64_t b) {
    const std::int64_t at = r * x.cols + first;
    float most = 0;
    for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::fabs(value(x, at + i)));
    const float scale = most > 0 ? most / top : 1;
    std::byte* const row = packed + r * bytes;
    std::memcpy(row + x.cols + 4 * b, &scale, sizeof(scale));
    for (std::int64_t i = 0; i < n; ++i) {
      row[first + i] = std::byte{encode(SmallFloat::e4m3, value(x, at + i) / scale)};
    }
  });
}

void CpuKernels::unpack_rows(const std::byte* packed, std::int64_t parts, bool accumulate,
                             View x) {
  const std::int64_t bytes = narrow_row_bytes(x.cols);
  for_each_block(x, [&](std::int64_t r, std::int64_t first, std::int64_t n, std::int64_t b) {
    std::array<float, kNarrowRowBlock> sums;
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::byte* const row = packed + (p * x.rows + r) * bytes;
      float scale = 0;
      std::memcpy(&scale, row + x.cols + 4 * b, sizeof(scale));
      for (std::int64_t i = 0; i < n; ++i) {
        const auto code = std::to_integer<std::uint8_t>(row[first + i]);
        const float v = scale * decode(SmallFloat::e4m3, code);
        float& sum = sums[static_cast<std::size_t>(i)];
        sum = p == 0 ? v : sum + v;
      }
    }
    const std::int64_t at = r * x.cols + first;
    for (std::int64_t i = 0; i < n; ++i) {
      const float sum = sums[static_cast<std::size_t>(i)];
      set_value(x, at + i, accumulate ? sum + value(x, at + i) : sum);
    }
  });
}

}  // namespace pleat
