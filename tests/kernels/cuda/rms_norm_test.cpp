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

TEST_F(CudaRmsNorm, RepeatsBitwise) {
  EXPECT_EQ(run(DType::fp32, 64, 4096), run(DType::fp32, 64, 4096));
}

}  // namespace
}  // namespace pleat::cuda
