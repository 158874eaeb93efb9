// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Narrow products as cuBLASLt gets them, K contiguous with scales in its layouts, against those of
// the numbers that the codes stand for; and what falls back.
#include "core/numerics/small_float.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::cuda {
int emulated_narrow_products(), emulated_fast_products();
}

namespace pleat::conformance {
namespace {

struct NarrowCase {
  const char* name;
  int capability;
  Quantization a, b;  // of operands whose columns are K
  bool expected;      // cuBLASLt gets it
  friend void PrintTo(const NarrowCase& c, std::ostream* out) { *out << c.name; }
};

Quantization blocks(SmallFloat format, ScaleRule rule, std::int64_t rows, std::int64_t cols) {
  return {.format = format, .rule = rule, .block_rows = rows, .block_cols = cols};
}

// The same with K along the rows.
Quantization along_rows(Quantization q) {
  std::swap(q.block_rows, q.block_cols);
  return q;
}

const SmallFloat k43 = SmallFloat::e4m3, k52 = SmallFloat::e5m2, k21 = SmallFloat::e2m1;
const Quantization kTensor{}, kGradient{.format = k52};
const Quantization kRows = blocks(k43, ScaleRule::power_of_two, 1, 128);
const Quantization kSquares = blocks(k43, ScaleRule::power_of_two, 128, 128);
const Quantization kMicro = blocks(k43, ScaleRule::e8m0, 1, 32);
const Quantization kFour = blocks(k21, ScaleRule::nvfp4, 1, 16);
const Quantization kFourSquares = blocks(k21, ScaleRule::nvfp4, 16, 16);

class EmulatedNarrow : public ::testing::TestWithParam<NarrowCase> {
 protected:
  void TearDown() override { emulated_capability = 80; }
};

TEST_P(EmulatedNarrow, ProductsInEveryLayout) {
  const NarrowCase& c = GetParam();
  emulated_capability = c.capability;
  EmulatedDevice device(false);
  KernelSet& k = device.kernels();
  const std::int64_t m = 48, n = 144, depth = 288;
  struct Codes {
    std::vector<float> values;
    std::vector<std::uint8_t> codes;
    BlockScales scales;
    View view;
  };
  const auto quantized = [&](std::int64_t rows, std::int64_t cols, const Quantization& q,
                             int seed) {
    auto made = std::make_unique<Codes>();
    const Matrix x = random_matrix(rows, cols, seed);
    made->values.assign(x.values.begin(), x.values.end());
    for (std::size_t i = 0; i < made->values.size(); i += 61)
      made->values[i] *= 30;  // scales differ
    made->codes.resize(static_cast<std::size_t>(rows * cols));
    made->view = {made->codes.data(), q.format == k21 ? DType::nvfp4 : DType::fp8, rows, cols,
                  &made->scales};
    k.quantize({made->values.data(), DType::fp32, rows, cols}, {}, made->view, q);
    return made;
  };
  const auto wide = [&](View v) {
    k.read_scales(v);
    const BlockScales& scales = *v.scales;
    const auto* const codes = static_cast<const std::uint8_t*>(v.data);
    Matrix all(v.rows, v.cols);
    for (std::int64_t r = 0; r < v.rows; ++r) {
      for (std::int64_t col = 0; col < v.cols; ++col) {
        const std::int64_t at = r * v.cols + col,
                           block = scales.block_of_row[static_cast<std::size_t>(r)];
        const bool four = scales.format == k21;
        const int code = !four ? codes[at] : at % 2 == 0 ? codes[at / 2] & 15 : codes[at / 2] >> 4;
        const float scale = scales.scales[static_cast<std::size_t>(block * scales.blocks_in_row +
                                                                   col / scales.block_cols)];
        all(r, col) = decode(scales.format, static_cast<std::uint8_t>(code)) * scale *
                      scales.group_scales[static_cast<std::size_t>(block)];
      }
    }
    return all;
  };
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      SCOPED_TRACE(testing::Message() << transpose_a << transpose_b);
      const auto a =
          transpose_a ? quantized(depth, m, along_rows(c.a), 1) : quantized(m, depth, c.a, 1);
      const auto b =
          transpose_b ? quantized(n, depth, c.b, 2) : quantized(depth, n, along_rows(c.b), 2);
      const Matrix wa = wide(a->view), wb = wide(b->view);
      std::vector<float> y(static_cast<std::size_t>(m * n), 1.0F);
      const View out{y.data(), DType::fp32, m, n};
      const int before = cuda::emulated_narrow_products();
      k.gemm(a->view, transpose_a, b->view, transpose_b, out, true);
      EXPECT_EQ(cuda::emulated_narrow_products() - before, c.expected ? 1 : 0);
      Matrix want = times(transpose_a ? transposed(wa) : wa, transpose_b ? transposed(wb) : wb),
             got(m, n);
      for (double& v : want.values) v += 1;
      got.values.assign(y.begin(), y.end());
      expect_close(got, want, "product", 2e-6);
    }
  }
}

// Sums of few bits are for forward products alone, x W^T of E4M3 with one scale each.
TEST(EmulatedFastSums, OfForwardProductsAlone) {
  emulated_capability = 90;
  EmulatedDevice device(false);
  KernelSet& k = device.kernels();
  constexpr std::int64_t kSide = 128;
  std::vector<float> values(kSide * kSide, 1), y(values.size());
  std::vector<std::uint8_t> codes[2] = {std::vector<std::uint8_t>(values.size()),
                                        std::vector<std::uint8_t>(values.size())};
  const auto fast = [&](const Quantization& qa, bool ta, const Quantization& qb, bool tb,
                        bool add) {
    BlockScales scales[2];
    View v[2];
    for (int i = 0; i < 2; ++i) {
      v[i] = {codes[i].data(), DType::fp8, kSide, kSide, &scales[i]};
      k.quantize({values.data(), DType::fp32, kSide, kSide}, {}, v[i], i == 0 ? qa : qb);
    }
    const int narrow = cuda::emulated_narrow_products(), before = cuda::emulated_fast_products();
    k.gemm(v[0], ta, v[1], tb, {y.data(), DType::fp32, kSide, kSide}, add);
    EXPECT_EQ(cuda::emulated_narrow_products() - narrow, 1);
    return cuda::emulated_fast_products() > before;
  };
  EXPECT_TRUE(fast(kTensor, false, kTensor, true, false));
  EXPECT_FALSE(fast(kTensor, false, kTensor, false, false)) << "dgrad of a format for all";
  EXPECT_FALSE(fast(kGradient, false, kTensor, false, false)) << "dgrad";
  EXPECT_FALSE(fast(kTensor, true, kTensor, false, true)) << "wgrad";
  EXPECT_FALSE(fast(kGradient, false, kTensor, true, false));
  EXPECT_FALSE(fast(kTensor, false, kTensor, true, true)) << "adds to what is there";
  EXPECT_FALSE(fast(kRows, false, kSquares, true, false)) << "blocks";
  emulated_capability = 80;
}

INSTANTIATE_TEST_SUITE_P(
    Emulated, EmulatedNarrow,
    ::testing::Values(NarrowCase{"tensor", 90, kTensor, kTensor, true},
                      NarrowCase{"gradient", 100, kGradient, kTensor, true},
                      NarrowCase{"gradients", 90, kGradient, kGradient, false},
                      NarrowCase{"blocks", 90, kRows, kSquares, true},
                      NarrowCase{"blocks_of_both", 90, kRows, kRows, true},
                      NarrowCase{"squares_of_both", 90, kSquares, kSquares, false},
                      NarrowCase{"blocks_on_blackwell", 100, kRows, kSquares, false},
                      NarrowCase{"microscaling", 100, kMicro, kMicro, true},
                      NarrowCase{"microscaling_on_hopper", 90, kMicro, kMicro, false},
                      NarrowCase{"four_bits", 100, kFour, kFourSquares, true},
                      NarrowCase{"without_narrow_types", 80, kFour, kFourSquares, false},
                      NarrowCase{"tensor_on_ampere", 80, kTensor, kTensor, false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat::conformance
