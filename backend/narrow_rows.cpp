// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/narrow_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/runtime/views.hpp"
#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kBlock = 128;

std::int64_t blocks_of(std::int64_t columns) { return (columns + kBlock - 1) / kBlock; }

// A row's codes, and behind them its scales: visit(codes, scales, values) of each block.
template <class Byte, class Value, class Visit>
void for_each_block(Byte* row, Value* values, std::int64_t columns, Visit visit) {
  for (std::int64_t b = 0; b < blocks_of(columns); ++b) {
    const std::int64_t first = b * kBlock, count = std::min(kBlock, columns - first);
    visit(row + first, row + columns + 4 * b, values + first, count);
  }
}

}  // namespace

std::int64_t packed_row_bytes(std::int64_t columns) { return columns + 4 * blocks_of(columns); }

std::vector<std::byte> pack_rows(View rows) {
  const std::vector<float> values = values_of(rows);
  const std::int64_t each = packed_row_bytes(rows.cols);
  std::vector<std::byte> packed(static_cast<std::size_t>(rows.rows * each));
  const float top = largest(SmallFloat::e4m3);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    for_each_block(packed.data() + r * each, values.data() + r * rows.cols, rows.cols,
                   [&](std::byte* codes, std::byte* scale_at, const float* x, std::int64_t n) {
                     float most = 0;
                     for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::fabs(x[i]));
                     const float scale = most > 0 ? most / top : 1;
                     std::memcpy(scale_at, &scale, sizeof(scale));
                     for (std::int64_t i = 0; i < n; ++i) {
                       codes[i] = std::byte{encode(SmallFloat::e4m3, x[i] / scale)};
                     }
                   });
  }
  return packed;
}

void unpack_rows(std::span<const std::byte> packed, View rows) {
  const std::int64_t each = packed_row_bytes(rows.cols);
  PLEAT_ASSERT(std::ssize(packed) == rows.rows * each);
  std::vector<float> values(static_cast<std::size_t>(rows.elements()));
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    for_each_block(packed.data() + r * each, values.data() + r * rows.cols, rows.cols,
                   [](const std::byte* codes, const std::byte* scale_at, float* x, std::int64_t n) {
                     float scale = 0;
                     std::memcpy(&scale, scale_at, sizeof(scale));
                     for (std::int64_t i = 0; i < n; ++i) {
                       x[i] = scale *
                              decode(SmallFloat::e4m3, std::to_integer<std::uint8_t>(codes[i]));
                     }
                   });
  }
  set_values(rows, values);
}

}  // namespace pleat
