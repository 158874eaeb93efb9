// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which operands of a call may lie beside each other.
#include "kernels/cpu/mixed_operands.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pleat::cpu {
namespace {

constexpr std::int64_t kRows = 4, kColumns = 64, kElements = kRows * kColumns;

// The scales of a block format are elsewhere: what is written may begin where its codes end. (Once
// their bytes were counted, and a step died by the luck of two allocations.)
TEST(MixedOperands, MayBeginWhereCodesEnd) {
  for (const DType format : {DType::fp8, DType::mxfp8, DType::nvfp4}) {
    alignas(64) std::array<std::byte, 4 * kElements> memory{};
    BlockScales scales{.block_cols = kColumns,
                       .blocks_in_row = 1,
                       .block_of_row = {0, 1, 2, 3},
                       .scales = {1, 1, 1, 1},
                       .group_scales = {1, 1, 1, 1},
                       .on_device = {}};
    if (format == DType::nvfp4) scales.format = SmallFloat::e2m1;
    const std::int64_t bytes = format == DType::nvfp4 ? kElements / 2 : kElements;
    const View codes{memory.data(), format, kRows, kColumns, &scales};
    const View behind{memory.data() + bytes, DType::bf16, 1, 8};
    const View across{memory.data() + bytes - 2, DType::bf16, 1, 8};
    ScratchBlocks blocks;
    {
      MixedOperands operands(blocks);
      EXPECT_EQ(operands.out(behind).dtype, DType::fp32);
      EXPECT_EQ(operands.in(codes).dtype, DType::fp32);
    }
    MixedOperands operands(blocks);
    (void)operands.in(codes);
    EXPECT_DEATH((void)operands.out(across), "overlap") << name_of(format);
  }
}

}  // namespace
}  // namespace pleat::cpu
