// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// CUDA SwiGLU against the formula in fp64.
#include <cmath>

#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

class CudaSwiglu : public GpuTest {
 protected:
  void expect_formula(DType dtype, std::int64_t rows, std::int64_t f, bool with_probability);
};

void CudaSwiglu::expect_formula(DType dtype, std::int64_t rows, std::int64_t f,
                                bool with_probability) {
  SCOPED_TRACE(testing::Message() << name_of(dtype) << " [" << rows << "," << f << "] probability "
                                  << with_probability);
  const std::vector<float> u = test_values(rows * 2 * f, 1), p = test_values(rows, 2);
  const DeviceMatrix device_u(dtype, rows, 2 * f, u), device_p(DType::fp32, rows, 1, p);
  const DeviceMatrix device_y(dtype, rows, f);
  kernels().swiglu(device_u.view(), with_probability ? device_p.view() : View{}, device_y.view());
  wait();
  const std::vector<float> y = device_y.values();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < f; ++c) {
      const double gate = u[r * 2 * f + c], up = u[r * 2 * f + f + c];
      const double expected = gate / (1 + std::exp(-gate)) * up * (with_probability ? p[r] : 1.0f);
      ASSERT_NEAR(y[r * f + c], expected, relative_tolerance(dtype) * std::abs(expected))
          << "row " << r << " column " << c;
    }
  }
}

TEST_F(CudaSwiglu, IsTheFormulaForShapesThatFillPacksAndShapesThatDoNot) {
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    for (const bool with_probability : {false, true}) {
      expect_formula(dtype, 0, 64, with_probability);
      expect_formula(dtype, 1, 1, with_probability);
      expect_formula(dtype, 3, 7, with_probability);
      expect_formula(dtype, 300, 12, with_probability);  // fills fp32 packs, not bf16 ones
      expect_formula(dtype, 33, 2048, with_probability);
    }
  }
}

TEST_F(CudaSwiglu, StaysFiniteWhereTheSigmoidSaturates) {
  const DeviceMatrix u(DType::fp32, 1, 4, {-200.0f, 200.0f, 3.0f, 3.0f});
  const DeviceMatrix y(DType::fp32, 1, 2);
  kernels().swiglu(u.view(), {}, y.view());
  wait();
  EXPECT_EQ(y.values(), (std::vector<float>{0.0f, 600.0f}));
}

}  // namespace
}  // namespace pleat::cuda
