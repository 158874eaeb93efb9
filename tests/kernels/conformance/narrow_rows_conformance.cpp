// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows that travel in fp8, byte by byte.
#include "kernels/narrow_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

// Of numbers that fit bf16; the first row is zeros, the last block of each row far smaller.
Matrix travelling_rows(std::int64_t rows, std::int64_t cols, int seed) {
  Matrix m = random_matrix(rows, cols, seed, 3);
  const std::int64_t last = (narrow_row_blocks(cols) - 1) * kNarrowRowBlock;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      double& v = m(r, c);
      if (c >= last) v *= 0x1p-40;
      v = r == 0 ? 0 : to_float(to_bf16(static_cast<float>(v)));
    }
  }
  return m;
}

std::vector<std::uint8_t> packed_by_hand(const Matrix& x) {
  const std::int64_t bytes = narrow_row_bytes(x.cols);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(x.rows * bytes));
  for (std::int64_t r = 0; r < x.rows; ++r) {
    std::uint8_t* const row = packed.data() + r * bytes;
    for (std::int64_t first = 0; first < x.cols; first += 128) {
      const std::int64_t end = std::min(first + 128, x.cols);
      float most = 0;
      for (std::int64_t c = first; c < end; ++c)
        most = std::max(most, std::fabs(static_cast<float>(x(r, c))));
      const float scale = most == 0 ? 1 : most / 448;
      std::memcpy(row + x.cols + first / 128 * 4, &scale, 4);
      for (std::int64_t c = first; c < end; ++c)
        row[c] = encode(SmallFloat::e4m3, static_cast<float>(x(r, c)) / scale);
    }
  }
  return packed;
}

// The sums of `parts` in their order, and `before` if it is not empty.
Matrix unpacked_by_hand(const std::vector<std::uint8_t>& packed, std::int64_t parts,
                        const Matrix& before, std::int64_t rows, std::int64_t cols, DType type) {
  const std::int64_t bytes = narrow_row_bytes(cols);
  Matrix x(rows, cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      float sum = 0;
      for (std::int64_t p = 0; p < parts; ++p) {
        const std::uint8_t* const row = packed.data() + (p * rows + r) * bytes;
        float scale = 0;
        std::memcpy(&scale, row + cols + c / 128 * 4, 4);
        sum += scale * decode(SmallFloat::e4m3, row[c]);
      }
      if (before.rows > 0) sum += static_cast<float>(before(r, c));
      x(r, c) = type == DType::bf16 ? to_float(to_bf16(sum)) : sum;
    }
  }
  return x;
}

TEST_P(KernelConformance, RowsTravelAsCodesWithAScaleFor128Columns) {
  for (const std::int64_t cols : {1, 7, 64, 128, 130, 300, 1024, 2880}) {
    for (const std::int64_t shift : {0, 1}) {
      for (const DType floats : {DType::fp32, DType::bf16}) {
        SCOPED_TRACE(testing::Message() << cols << ", " << name_of(floats) << ", shift " << shift);
        set_floats(floats);
        set_shift(shift);
        const Matrix x = travelling_rows(5, cols, 3);
        const View packed = out_codes(DType::fp8, 5, narrow_row_bytes(cols));
        k().pack_rows(in(x), static_cast<std::byte*>(packed.data));
        const std::vector<std::uint8_t> bytes = packed_by_hand(x);
        ASSERT_EQ(get_codes(packed), bytes);
        const View y = out(5, cols);
        k().unpack_rows(static_cast<const std::byte*>(packed.data), 1, false, y);
        ASSERT_EQ(get(y), unpacked_by_hand(bytes, 1, {0, 0}, 5, cols, floats));
      }
    }
  }
  set_floats(DType::fp32);
}

TEST_P(KernelConformance, RowsThatTravelledAreAddedUpInTheirOrder) {
  for (const DType floats : {DType::fp32, DType::bf16}) {
    for (const std::int64_t cols : {36, 256}) {
      SCOPED_TRACE(testing::Message() << cols << ", " << name_of(floats));
      set_floats(floats);
      const Matrix x = travelling_rows(4 * 3, cols, 5), before = travelling_rows(3, cols, 6);
      const View packed = out_codes(DType::fp8, 4 * 3, narrow_row_bytes(cols));
      const auto* const bytes = static_cast<const std::byte*>(packed.data);
      k().pack_rows(in(x), static_cast<std::byte*>(packed.data));
      const View sums = out(3, cols), added = inout(before);
      k().unpack_rows(bytes, 4, false, sums);
      k().unpack_rows(bytes, 4, true, added);
      const std::vector<std::uint8_t> by_hand = packed_by_hand(x);
      EXPECT_EQ(get(sums), unpacked_by_hand(by_hand, 4, {0, 0}, 3, cols, floats));
      EXPECT_EQ(get(added), unpacked_by_hand(by_hand, 4, before, 3, cols, floats));
    }
  }
  set_floats(DType::fp32);
}

// A rank may have no rows for another one.
TEST_P(KernelConformance, NoRowsTravelAsNothing) {
  const View none_here{nullptr, DType::bf16, 0, 64};
  k().pack_rows(none_here, nullptr);
  k().unpack_rows(nullptr, 1, false, none_here);
}

}  // namespace
}  // namespace pleat::conformance
