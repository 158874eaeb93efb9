// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory that comes and goes while a step runs: nothing of it is freed in a way that waits for the
// whole GPU.
#include "kernels/cuda/kept_blocks.hpp"

#include "tests/kernels/emulation/emulated_device.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::conformance {
namespace {

TEST(KeptBlocks, AreHandedOutAgain) {
  auto pool = std::make_shared<cuda::KeptBlocks>();
  const int before = emulated_frees;
  cuda::KeptBlocks::Block a = pool->take(1000);
  void* const first = a.data();
  EXPECT_GE(a.bytes(), 1000U);
  cuda::KeptBlocks::Block b = pool->take(1000);
  EXPECT_NE(b.data(), first);  // the first one is in use
  a = {};
  EXPECT_EQ(pool->take(900).data(), first);
  EXPECT_NE(pool->take(5000).data(), first);
  EXPECT_EQ(pool->take(0).data(), nullptr);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{1'000'001}}) {
    EXPECT_GE(pool->take(bytes).bytes(), bytes);
    EXPECT_LE(pool->take(bytes).bytes(), bytes + std::max<std::size_t>(256, bytes / 8));
  }
  EXPECT_EQ(emulated_frees, before);
  pool.reset();
  EXPECT_EQ(emulated_frees, before);  // b keeps the pool
  b = {};
  EXPECT_GT(emulated_frees, before);
}

TEST(KeptBlocks, ScalesAndScratchFreeNothing) {
  EmulatedDevice device(false);  // with little scratch
  KernelSet& k = device.kernels();
  constexpr std::int64_t kRows = 64, kCols = 96;
  std::vector<float> x(kRows * kCols, 1), sums(kCols);
  std::vector<std::byte> codes(kRows * kCols);
  const int before = emulated_frees;
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::int64_t rows : {kRows, kRows / 2, std::int64_t{1}}) {
      BlockScales scales;
      const View y{codes.data(), DType::fp8, rows, kCols, &scales};
      k.quantize({x.data(), DType::fp32, rows, kCols}, {}, y,
                 {.rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 32});
    }
    k.add_bias_bwd({x.data(), DType::fp32, kRows, kCols}, 1, {sums.data(), DType::fp32, 1, kCols});
  }
  EXPECT_EQ(emulated_frees, before);
}

}  // namespace
}  // namespace pleat::conformance
