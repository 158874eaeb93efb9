// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// CUDA RMSNorm against the formula in fp64.
#include <cmath>

#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

constexpr double kEps = 1e-6;

struct Result {
  std::vector<float> y, rstd;
  bool operator==(const Result&) const = default;
};

class CudaRmsNorm : public GpuTest {
 protected:
  Result run(DType dtype, std::int64_t rows, std::int64_t cols);
  void expect_formula(DType dtype, std::int64_t rows, std::int64_t cols);
};

Result CudaRmsNorm::run(DType dtype, std::int64_t rows, std::int64_t cols) {
  const DeviceMatrix x(dtype, rows, cols, test_values(rows * cols, 1));
  const DeviceMatrix w(dtype, 1, cols, test_values(cols, 2));
  const DeviceMatrix y(dtype, rows, cols), rstd(DType::fp32, rows, 1);
  kernels().rms_norm(x.view(), w.view(), y.view(), rstd.view(), kEps);
  wait();
  return {y.values(), rstd.values()};
}

void CudaRmsNorm::expect_formula(DType dtype, std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(testing::Message() << name_of(dtype) << " [" << rows << "," << cols << "]");
  const std::vector<float> x = test_values(rows * cols, 1), w = test_values(cols, 2);
  const Result result = run(dtype, rows, cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::int64_t c = 0; c < cols; ++c) squares += std::pow(x[r * cols + c], 2);
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(cols) + kEps);
    ASSERT_NEAR(result.rstd[r], rstd, 4e-6 * rstd) << "row " << r;
    for (std::int64_t c = 0; c < cols; ++c) {
      const double y = x[r * cols + c] * rstd * w[c];
      ASSERT_NEAR(result.y[r * cols + c], y, relative_tolerance(dtype) * std::abs(y))
          << "row " << r << " column " << c;
    }
  }
}

TEST_F(CudaRmsNorm, IsTheFormulaForShapesThatFillPacksAndShapesThatDoNot) {
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    expect_formula(dtype, 0, 64);
    expect_formula(dtype, 1, 1);
    expect_formula(dtype, 3, 7);
    expect_formula(dtype, 5, 129);
    expect_formula(dtype, 33, 256);
    expect_formula(dtype, 17, 7168);
  }
}

// dx row by row, and dw over all rows: several rounds of rows for every block of a GPU.
TEST_F(CudaRmsNorm, GradientsOfManyRowsAreTheFormula) {
  constexpr DType kType = DType::bf16;
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{30011, 128},
                                   {9001, 1024},
                                   {6007, 2048},
                                   {3001, 4096},
                                   {2003, 7168},
                                   {1501, 8192}}) {
    SCOPED_TRACE(testing::Message() << "[" << rows << "," << cols << "]");
    const auto rounded = [](std::vector<float> values) {
      for (float& v : values) v = from_bf16(to_bf16(v));
      return values;
    };
    const auto count = rows * cols;
    const std::vector<float> x = rounded(test_values(count, 1)),
                             dy = rounded(test_values(count, 2));
    const std::vector<float> w = rounded(test_values(cols, 3));
    const std::vector<float> residual = rounded(test_values(count, 4));
    const std::vector<float> rstd = test_values(rows, 5);
    const DeviceMatrix in_x(kType, rows, cols, x), in_dy(kType, rows, cols, dy);
    const DeviceMatrix in_w(kType, 1, cols, w), in_rstd(DType::fp32, rows, 1, rstd);
    const DeviceMatrix in_residual(kType, rows, cols, residual), dx(kType, rows, cols);
    const DeviceMatrix dw(DType::fp32, 1, cols,
                          std::vector<float>(static_cast<std::size_t>(cols), 0.0F));
    kernels().rms_norm_bwd(in_dy.view(), in_x.view(), in_w.view(), in_rstd.view(),
                           in_residual.view(), dx.view(), dw.view());
    wait();
    const std::vector<float> dx_there = dx.values(), dw_there = dw.values();
    const auto columns = static_cast<std::size_t>(cols);
    std::vector<double> sums(columns), sizes(columns);
    for (std::size_t r = 0; r < rstd.size(); ++r) {
      const double scale = rstd[r];
      double mean = 0;
      for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t i = r * columns + c;
        const double part = static_cast<double>(dy[i]) * x[i] * scale;
        mean += part * w[c] / static_cast<double>(cols);
        sums[c] += part;
        sizes[c] += std::abs(part);
      }
      for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t i = r * columns + c;
        const double own = static_cast<double>(dy[i]) * w[c], shared = x[i] * scale * mean;
        const double expected = residual[i] + scale * (own - shared);
        const double size =
            std::abs(residual[i]) + std::abs(scale) * (std::abs(own) + std::abs(shared));
        ASSERT_NEAR(dx_there[i], expected, 0.004 * std::abs(expected) + 1e-5 * size)
            << "row " << r << " column " << c;
      }
    }
    for (std::size_t c = 0; c < columns; ++c)
      ASSERT_NEAR(dw_there[c], sums[c], 1e-5 * sizes[c]) << c;
  }
}

TEST_F(CudaRmsNorm, RepeatsBitwise) {
  EXPECT_EQ(run(DType::fp32, 64, 4096), run(DType::fp32, 64, 4096));
}

}  // namespace
}  // namespace pleat::cuda
