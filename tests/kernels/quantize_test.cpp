// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quantisation recipes against scales and codes worked out by hand, and products of quantised
// operands against those of the numbers that they stand for.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/kernels/quantized_matrices.hpp"

namespace pleat {
namespace {

using conformance::random_matrix;
using test::Codes;
using test::Matrix;
using test::Quantized;

using Quantize = test::QuantizedMatrices;

Matrix row(const std::vector<double>& values) {
  Matrix m(1, std::ssize(values));
  m.values = values;
  return m;
}

double error_of(const Matrix& got, const Matrix& want) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < want.values.size(); ++i) {
    difference += std::pow(got.values[i] - want.values[i], 2);
    size += std::pow(want.values[i], 2);
  }
  return std::sqrt(difference / size);
}

constexpr Quantization kTensor{};
constexpr Quantization kBlocks{.rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 128};
constexpr Quantization kSquares{.rule = ScaleRule::amax, .block_rows = 128, .block_cols = 128};
constexpr Quantization kMx{.rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32};
constexpr Quantization kFour{
    .format = SmallFloat::e2m1, .rule = ScaleRule::nvfp4, .block_rows = 1, .block_cols = 16};

// amax 7: times 64. 1 is 64 = 0x68, 3.5 is 224 = 0x76, 0.1 is 6.4, to 6.5 = 0x4d.
TEST_F(Quantize, OfATensorByItsLargest) {
  const Quantized& q = quantize(row({1, -7, 3.5, 0.1, 0}), kTensor);
  EXPECT_EQ(q.scales.scales, std::vector<float>{1.0F / 64});
  EXPECT_EQ(codes(q), (Codes{0x68, 0xfe, 0x76, 0x4d, 0}));
  const Matrix back = meaning(q);
  EXPECT_EQ(back.values, (std::vector<double>{1, -7, 3.5, 6.5 / 64, 0}));
}

// The gradients' type: 57344 / 7 = 8192, 1 is 2^13.
TEST_F(Quantize, OfGradientsInE5M2) {
  const Quantized& q = quantize(row({1, -7}), {.format = SmallFloat::e5m2});
  EXPECT_EQ(q.scales.scales, std::vector<float>{1.0F / 8192});
  EXPECT_EQ(codes(q), (Codes{0x70, 0xfb}));
}

TEST_F(Quantize, OfZerosInfinityAndNan) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(quantize(row({0, -0.0}), kTensor).scales.scales, std::vector<float>{1});
  EXPECT_EQ(codes(quantize(row({0, -0.0}), kTensor)), (Codes{0, 0x80}));
  EXPECT_EQ(codes(quantize(row({inf, 1}), kTensor)), (Codes{0x7e, 0x38}));
  EXPECT_EQ(codes(quantize(row({std::nan(""), 448}), kTensor)), (Codes{0x7f, 0x7e}));
  EXPECT_EQ(codes(quantize(row({1e-45}), kTensor)).size(), 1U);
  EXPECT_EQ(codes(quantize(row({0, 0}), kFour)), (Codes{0, 0}));
}

// amax 3 in the first block: 448 / 3 = 149.3, down to 128; 0.25 in the second: 1792, to 1024.
// The vector code rounds as the codec does: every upper half of an fp32 number, below it nothing, a
// tie, what is beside a tie, and all.
TEST_F(Quantize, RoundsAsTheCodecsDo) {
  for (const SmallFloat type : {SmallFloat::e4m3, SmallFloat::e5m2, SmallFloat::e2m1}) {
    const Quantization q{.format = type, .rule = ScaleRule::e8m0, .block_rows = 1};
    std::vector<float> values;
    for (std::uint32_t high = 0; high < 0x10000; ++high) {
      for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0xffffU}) {
        values.push_back(std::bit_cast<float>(high << 16U | low));
      }
    }
    // Two in a row: the first is the largest number, which makes the scale 1 for those below it.
    const auto rows = std::ssize(values);
    std::vector<float> pairs;
    for (const float v : values) pairs.insert(pairs.end(), {largest(type), v});
    Quantized made;
    made.codes.resize(static_cast<std::size_t>(2 * rows));
    made.view = {made.codes.data(), type == SmallFloat::e2m1 ? DType::nvfp4 : DType::fp8, rows, 2,
                 &made.scales};
    kernels_->quantize({pairs.data(), DType::fp32, rows, 2}, {}, made.view, q);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::abs(values[i]) > largest(type) && !std::isinf(values[i])) continue;  // another scale
      const int code = type == SmallFloat::e2m1 ? made.codes[i] >> 4 : made.codes[2 * i + 1];
      const float scaled = std::isinf(values[i]) ? values[i] * decode_e8m0(0) : values[i];
      ASSERT_EQ(code, encode(type, scaled)) << values[i];
    }
  }
}

TEST_F(Quantize, OfBlocksByPowersOfTwo) {
  Matrix m(1, 130, 0.0);
  m(0, 0) = 3;
  m(0, 127) = 1;
  m(0, 128) = -0.25;
  const Quantized& q = quantize(m, kBlocks);
  EXPECT_EQ(q.scales.scales, (std::vector<float>{1.0F / 128, 1.0F / 1024}));
  EXPECT_EQ(codes(q)[0], 0x7c);    // 384
  EXPECT_EQ(codes(q)[127], 0x70);  // 128
  EXPECT_EQ(codes(q)[128], 0xf8);  // -256
}

TEST_F(Quantize, OfSquaresOneScaleEach) {
  Matrix m(130, 129, 1.0);
  m(129, 128) = 2;
  const Quantized& q = quantize(m, kSquares);
  EXPECT_EQ(q.scales.scales, (std::vector<float>{1.0F / 448, 1.0F / 448, 1.0F / 448, 1.0F / 224}));
  EXPECT_EQ(meaning(q)(129, 128), 2);
}

// The scale is the least power of two with which nothing overflows.
TEST_F(Quantize, OfMicroscalingBlocks) {
  Matrix m(1, 96, 0.0);
  m(0, 0) = 448;
  m(0, 32) = 449;
  m(0, 64) = 0.875;  // 448 * 2^-9
  const Quantized& q = quantize(m, kMx);
  EXPECT_EQ(q.scales.scales, (std::vector<float>{1, 2, 0x1p-9F}));
  EXPECT_EQ(codes(q)[0], 0x7e);
  EXPECT_EQ(codes(q)[32], 0x76);  // 224.5, to 224
  EXPECT_EQ(codes(q)[64], 0x7e);
}

// The group's largest is 2688 = 448 * 6, its factor 1: blocks with 6 and 3 have the scales 1 and
// 1/2; one with 5.4 has 0.9, which E4M3 rounds to 0.875 or, nearer, 0.9375: 0.9 - 0.875 < 0.9375 -
// 0.9.
TEST_F(Quantize, OfFourBitsInTwoSteps) {
  Matrix m(1, 64, 0.0);
  m(0, 0) = 2688;
  m(0, 16) = -6;
  m(0, 17) = 1.25;  // ties to 1
  m(0, 32) = 3;
  m(0, 33) = 0.75;
  m(0, 48) = 5.4;
  const Quantized& q = quantize(m, kFour);
  EXPECT_EQ(q.scales.group_scales, std::vector<float>{1});
  EXPECT_EQ(q.scales.scales, (std::vector<float>{448, 1, 0.5F, 0.875F}));
  const Codes c = codes(q);
  EXPECT_EQ(c[0], 7);
  EXPECT_EQ(c[16], 15);
  EXPECT_EQ(c[17], 2);
  EXPECT_EQ(c[32], 7);
  EXPECT_EQ(c[33], 3);
  EXPECT_EQ(c[48], 7);  // 6.17 saturates
  m(0, 0) = 1344;       // half of it: the group's factor is 2
  const Quantized& half = quantize(m, kFour);
  EXPECT_EQ(half.scales.group_scales, std::vector<float>{0.5F});
  EXPECT_EQ(half.scales.scales, (std::vector<float>{448, 2, 1, 1.75F}));
}

// Rows of different groups share no scale; an empty group has none.
TEST_F(Quantize, OfGroupsEachByItself) {
  Matrix m(5, 2, 1.0);
  m(2, 0) = 7;
  const View groups = counts({2, 0, 3});
  EXPECT_EQ(quantize(m, kTensor, groups).scales.scales,
            (std::vector<float>{1.0F / 448, 1.0F / 64}));
  Quantization columns = kMx;
  columns.block_rows = 2;
  columns.block_cols = 1;
  const Quantized& q = quantize(m, columns, groups);
  EXPECT_EQ(q.scales.block_of_row, (std::vector<std::int32_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(q.scales.scales.size(), 6U);
  EXPECT_EQ(q.scales.scales[2], 0x1p-6F);  // 7 / 448
}

// Half a unit in the last place of 3, 2 and 1 bits of mantissa, for what is not tiny in its block.
TEST_F(Quantize, ErrorsAreWhatTheBitsAllow) {
  const Matrix x = random_matrix(40, 256, 1);
  EXPECT_LT(error_of(meaning(quantize(x, kTensor)), x), 0.03);
  EXPECT_LT(error_of(meaning(quantize(x, {.format = SmallFloat::e5m2})), x), 0.06);
  EXPECT_LT(error_of(meaning(quantize(x, kBlocks)), x), 0.03);
  EXPECT_LT(error_of(meaning(quantize(x, kMx)), x), 0.03);
  EXPECT_LT(error_of(meaning(quantize(x, kFour)), x), 0.12);
  EXPECT_GT(error_of(meaning(quantize(x, kFour)), x), 0.03);
}

// Products are those of the numbers that the codes stand for.
TEST_F(Quantize, ProductsOfQuantizedOperands) {
  const Matrix a = random_matrix(9, 64, 1), b = random_matrix(12, 64, 2);
  for (const Quantization& q : {kTensor, kBlocks, kSquares, kMx, kFour}) {
    const Quantized &qa = quantize(a, q), &qb = quantize(b, q);
    const Matrix want = times(meaning(qa), transposed(meaning(qb)));
    expect_close(product(qa.view, false, qb.view, true, 9, 12), want, "product");
    EXPECT_LT(error_of(want, times(a, transposed(b))), 0.2);
  }
}

TEST_F(Quantize, GroupedProductsOfQuantizedOperands) {
  const std::vector<std::int32_t> rows{3, 0, 5};
  const Matrix x = random_matrix(8, 32, 1), w = random_matrix(3 * 6, 32, 2),
               d = random_matrix(8, 6, 3);
  const View groups = counts(rows);
  const Quantized &qx = quantize(x, kMx, groups), &qw = quantize(w, kMx, counts({6, 6, 6}));
  const Quantized& qd =
      quantize(d, {.rule = ScaleRule::e8m0, .block_rows = 32, .block_cols = 1}, groups);
  const Matrix mx = meaning(qx), mw = meaning(qw), md = meaning(qd);
  Matrix y(8, 6), dw(18, 32);
  const View vy = floats(y), vdw = floats(dw);
  kernels_->grouped_gemm(qx.view, qw.view, true, groups, vy);
  kernels_->grouped_wgrad(qd.view, qx.view, groups, vdw, true);
  std::int64_t row = 0;
  for (std::int64_t g = 0; g < 3; ++g) {
    for (std::int64_t i = 0; i < rows[static_cast<std::size_t>(g)]; ++i, ++row) {
      for (std::int64_t n = 0; n < 6; ++n) {
        for (std::int64_t k = 0; k < 32; ++k) {
          y(row, n) += mx(row, k) * mw(g * 6 + n, k);
          dw(g * 6 + n, k) += md(row, n) * mx(row, k);
        }
      }
    }
  }
  Matrix got(8, 6), got_dw(18, 32);
  got.values.assign(vy.f32(), vy.f32() + vy.elements());
  got_dw.values.assign(vdw.f32(), vdw.f32() + vdw.elements());
  expect_close(got, y, "y");
  expect_close(got_dw, dw, "dw");
}

// Signs and Hadamard matrices cancel in products over rows, also over the 13 = 8 + 4 + 1 of a
// group. An outlier is spread over its 16 rows.
TEST_F(Quantize, HadamardCancelsInProductsOverRows) {
  Quantization turned{.block_rows = 1, .block_cols = 1};  // a scale for each number: all but exact
  turned.hadamard = true;
  const View groups = counts({32, 13, 16});
  Matrix x = random_matrix(61, 5, 1), d = random_matrix(61, 7, 2);
  const Quantized &qx = quantize(x, turned, groups), &qd = quantize(d, turned, groups);
  expect_close(product(qx.view, true, qd.view, false, 5, 7), times(transposed(x), d), "product",
               0.01);
  Matrix spike(16, 1, 0.0);
  spike(3, 0) = 4;
  for (const double v : meaning(quantize(spike, turned)).values) EXPECT_EQ(std::abs(v), 1);
}

TEST_F(Quantize, StochasticRoundingHasNoBias) {
  Quantization q{
      .format = SmallFloat::e2m1, .rule = ScaleRule::nvfp4, .block_rows = 1, .block_cols = 16};
  q.stochastic = true;
  Matrix x(64, 64, 2.25);
  for (std::int64_t r = 0; r < 64; ++r) {
    for (std::int64_t c = 0; c < 64; c += 16) x(r, c) = 6;  // the scale of each block
  }
  const auto sum_of = [&](PhiloxKey key) {
    q.key = key;
    double sum = 0;
    for (const double v : meaning(quantize(x, q)).values) sum += v > 5 ? 0 : v;
    return sum;
  };
  const double values = 64 * 60;
  EXPECT_NEAR(sum_of({1, 2}) / values, 2.25, 0.03);  // 4 * sqrt(3)/4 / sqrt(3840)
  EXPECT_EQ(sum_of({1, 2}), sum_of({1, 2}));
  EXPECT_NE(sum_of({1, 2}), sum_of({1, 3}));
}

// TE, torchtitan#1718, Megatron-LM#4038: rows that pad an expert's share were routed, or moved the
// others. Here blocks end with an expert's rows; zero rows behind them, as others pad, change no
// result.
TEST_F(Quantize, PaddedGroupsComputeSomethingElse) {
  const std::vector<std::int32_t> rows{3, 0, 37, 16}, padded{32, 0, 64, 32};
  const std::int64_t depth = 64, width = 24;
  const Matrix x = random_matrix(56, depth, 1), dy = random_matrix(56, width, 2);
  const Matrix w = random_matrix(4 * width, depth, 3);
  const auto pad = [&](const Matrix& m) {
    Matrix all(128, m.cols);
    std::int64_t from = 0, to = 0;
    for (std::size_t g = 0; g < rows.size(); ++g) {
      for (std::int64_t r = 0; r < rows[g]; ++r) {
        for (std::int64_t c = 0; c < m.cols; ++c) all(to + r, c) = m(from + r, c);
      }
      from += rows[g], to += padded[g];
    }
    return all;
  };
  const auto without_padding = [&](View y) {
    std::vector<float> kept;
    std::int64_t from = 0;
    for (std::size_t g = 0; g < rows.size(); ++g) {
      kept.insert(kept.end(), y.f32() + from * y.cols, y.f32() + (from + rows[g]) * y.cols);
      from += padded[g];
    }
    return kept;
  };
  const std::vector<std::int32_t> matrices(4, static_cast<std::int32_t>(width));
  for (const Quantization& q :
       {Quantization{},
        Quantization{.rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 128},
        Quantization{.rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32},
        Quantization{.format = SmallFloat::e2m1,
        .rule = ScaleRule::nvfp4,
        .block_rows = 1,
        .block_cols = 16}}) {
    const View weights = quantize(w, q, counts(matrices)).view;
    const View y = floats(Matrix(56, width)), more = floats(Matrix(128, width));
    kernels_->grouped_gemm(quantize(x, q, counts(rows)).view, weights, true, counts(rows), y);
    kernels_->grouped_gemm(quantize(pad(x), q, counts(padded)).view, weights, true, counts(padded),
                           more);
    const std::vector<float> same = without_padding(more);  // but for the order of sums
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      EXPECT_NEAR(same[static_cast<std::size_t>(i)], y.f32()[i], 1e-5) << i;
    }
  }
  const Quantization columns{.rule = ScaleRule::e8m0, .block_rows = 32, .block_cols = 1};
  const View dw = floats(Matrix(4 * width, depth)), same = floats(Matrix(4 * width, depth));
  kernels_->grouped_wgrad(quantize(dy, columns, counts(rows)).view,
                          quantize(x, columns, counts(rows)).view, counts(rows), dw, false);
  kernels_->grouped_wgrad(quantize(pad(dy), columns, counts(padded)).view,
                          quantize(pad(x), columns, counts(padded)).view, counts(padded), same,
                          false);
  for (std::int64_t i = 0; i < dw.elements(); ++i) {
    EXPECT_NEAR(same.f32()[i], dw.f32()[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace pleat
