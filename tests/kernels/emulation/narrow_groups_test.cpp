// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products of 8-bit codes as CUTLASS gets them, against those of the numbers that the codes
// stand for, forward and both backward ones; and what falls back.
#include <numeric>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::cuda {
int emulated_grouped_codes();
}

namespace pleat::conformance {
namespace {

const Quantization kTensor{}, kGradient{.format = SmallFloat::e5m2};

Quantization blocks(std::int64_t rows, std::int64_t cols) {
  return {.rule = ScaleRule::power_of_two, .block_rows = rows, .block_cols = cols};
}

struct GroupCase {
  const char* name;
  int capability;
  // Of activations' and gradients' rows and columns, and of weights.
  Quantization x_row, x_column, d_row, d_column, w;
  int expected;  // of the three products on codes
  std::int64_t n = 128, k = 128;
  friend void PrintTo(const GroupCase& c, std::ostream* out) { *out << c.name; }
};

struct Codes {
  std::vector<float> values;
  std::vector<std::uint8_t> codes;
  BlockScales scales;
  View view;
};

class EmulatedGroups : public ::testing::TestWithParam<GroupCase> {
 protected:
  void SetUp() override { emulated_capability = GetParam().capability; }
  void TearDown() override { emulated_capability = 80; }

  std::unique_ptr<Codes> quantized(std::int64_t rows, std::int64_t cols,
                                   std::vector<std::int32_t>& counts, const Quantization& q,
                                   int seed) {
    auto made = std::make_unique<Codes>();
    const Matrix x = random_matrix(rows, cols, seed);
    made->values.assign(x.values.begin(), x.values.end());
    for (std::size_t i = 0; i < made->values.size(); i += 61) made->values[i] *= 30;
    made->codes.resize(made->values.size());
    made->view = {made->codes.data(), DType::fp8, rows, cols, &made->scales};
    device_.kernels().quantize({made->values.data(), DType::fp32, rows, cols},
                               {counts.data(), DType::i32, 1, std::ssize(counts)}, made->view, q);
    return made;
  }
  Matrix meaning(View v) {
    device_.kernels().read_scales(v);
    const BlockScales& s = *v.scales;
    Matrix all(v.rows, v.cols);
    for (std::int64_t i = 0; i < v.elements(); ++i) {
      const std::int64_t block = s.block_of_row[static_cast<std::size_t>(i / v.cols)];
      const std::int64_t at = block * s.blocks_in_row + i % v.cols / s.block_cols;
      all.values[static_cast<std::size_t>(i)] =
          decode(s.format, static_cast<const std::uint8_t*>(v.data)[i]) *
          s.scales[static_cast<std::size_t>(at)];
    }
    return all;
  }

  EmulatedDevice device_{false};
};

Matrix wide(const std::vector<Bf16>& values, std::int64_t rows, std::int64_t cols) {
  Matrix m(rows, cols);
  for (std::size_t i = 0; i < values.size(); ++i) m.values[i] = to_float(values[i]);
  return m;
}

TEST_P(EmulatedGroups, ForwardAndBackward) {
  const GroupCase& c = GetParam();
  const std::int64_t n = c.n, k = c.k;
  for (const std::vector<std::int32_t>& rows : std::vector<std::vector<std::int32_t>>{
           {3, 0, 131, 16}, {0, 0, 0, 129}, {128, 1, 0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(rows));
    std::vector<std::int32_t> counts = rows, experts(4, static_cast<std::int32_t>(n));
    const std::int64_t all = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
    const View count{counts.data(), DType::i32, 1, 4};
    const auto x = quantized(all, k, counts, c.x_row, 1),
               xc = quantized(all, k, counts, c.x_column, 1);
    const auto d = quantized(all, n, counts, c.d_row, 2),
               dc = quantized(all, n, counts, c.d_column, 2);
    const auto w = quantized(4 * n, k, experts, c.w, 3);
    std::vector<Bf16> y(static_cast<std::size_t>(all * n)), dx(static_cast<std::size_t>(all * k));
    std::vector<float> dw(static_cast<std::size_t>(4 * n * k), 7), sum(dw.size(), 1);
    KernelSet& set = device_.kernels();
    const int before = cuda::emulated_grouped_codes();
    set.grouped_gemm(x->view, w->view, true, count, {y.data(), DType::bf16, all, n});
    set.grouped_gemm(d->view, w->view, false, count, {dx.data(), DType::bf16, all, k});
    set.grouped_wgrad(dc->view, xc->view, count, {dw.data(), DType::fp32, 4 * n, k}, false);
    EXPECT_EQ(cuda::emulated_grouped_codes() - before, c.expected);
    set.grouped_wgrad(dc->view, xc->view, count, {sum.data(), DType::fp32, 4 * n, k}, true);
    const Matrix mx = meaning(x->view), mw = meaning(w->view), md = meaning(d->view);
    const Matrix mxc = meaning(xc->view), mdc = meaning(dc->view);
    Matrix want_y(all, n), want_dx(all, k), want_dw(4 * n, k), want_sum(4 * n, k, 1);
    std::int64_t row = 0;
    for (std::int64_t g = 0; g < 4; ++g) {
      for (std::int64_t i = 0; i < rows[static_cast<std::size_t>(g)]; ++i, ++row) {
        for (std::int64_t a = 0; a < n; ++a) {
          for (std::int64_t b = 0; b < k; ++b) {
            want_y(row, a) += mx(row, b) * mw(g * n + a, b);
            want_dx(row, b) += md(row, a) * mw(g * n + a, b);
            want_dw(g * n + a, b) += mdc(row, a) * mxc(row, b);
            want_sum(g * n + a, b) += mdc(row, a) * mxc(row, b);
          }
        }
      }
    }
    const auto floats = [&](const std::vector<float>& values) {
      Matrix m(4 * n, k);
      m.values.assign(values.begin(), values.end());
      return m;
    };
    expect_close(wide(y, all, n), want_y, "forward", 4e-3);  // bf16
    expect_close(wide(dx, all, k), want_dx, "dgrad", 4e-3);
    expect_close(floats(dw), want_dw, "wgrad", 2e-6);
    expect_close(floats(sum), want_sum, "wgrad that adds", 2e-6);
  }
}

const Quantization kRows = blocks(1, 128), kColumns = blocks(128, 1), kSquares = blocks(128, 128);
INSTANTIATE_TEST_SUITE_P(
    Emulated, EmulatedGroups,
    ::testing::Values(
        GroupCase{"tensor", 90, kTensor, kTensor, kGradient, kGradient, kTensor, 3},
        GroupCase{"tensor_padded", 90, kTensor, kTensor, kGradient, kGradient, kTensor, 3, 48, 80},
        // Gradients in E4M3 have no kernel by depth.
        GroupCase{"one_format", 90, kTensor, kTensor, kTensor, kTensor, kTensor, 2},
        GroupCase{"blocks", 90, kRows, kColumns, kRows, kColumns, kSquares, 3},
        // Rows that are no multiple of a block; wgrad needs none.
        GroupCase{"odd_blocks", 90, kRows, kColumns, kRows, kColumns, kSquares, 1, 32, 96},
        GroupCase{"tensor_on_blackwell", 100, kTensor, kTensor, kGradient, kGradient, kTensor, 0,
                  32, 64},
        GroupCase{"blocks_on_ampere", 80, kRows, kColumns, kRows, kColumns, kSquares, 0, 32, 64}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat::conformance
