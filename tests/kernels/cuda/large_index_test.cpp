// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrices of more than 2^31 elements: 32-bit products of rows and columns would wrap
// (NVIDIA/TransformerEngine#2907).
#include <cmath>

#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kRows = 70'000, kCols = 32'768, kLast = kRows - 1;

class CudaLargeIndex : public GpuTest {
 protected:
  // The last row of a matrix.
  static View last(View all) {
    return {static_cast<std::uint16_t*>(all.data) + kLast * kCols, DType::bf16, 1, kCols};
  }
  std::vector<float> values_of(View row) {
    const DeviceMatrix copied(DType::bf16, 1, kCols);
    kernels().copy(row, copied.view());
    wait();
    return copied.values();
  }
};

TEST_F(CudaLargeIndex, ReachesTheLastRow) {
  const DeviceMatrix big(DType::bf16, kRows, kCols), other(DType::bf16, kRows, kCols);
  const std::vector<float> values = test_values(kCols, 1);
  const DeviceMatrix row(DType::bf16, 1, kCols, values), y(DType::bf16, 1, kCols);
  DeviceBuffer map(sizeof(std::int32_t));
  const auto place = static_cast<std::int32_t>(kLast);
  map.upload(&place);
  const View row_map{map.data(), DType::i32, 1, 1};

  kernels().unpermute_bwd(row.view(), row_map, big.view());
  EXPECT_EQ(values_of(last(big.view())), values) << "unpermute_bwd";
  kernels().unpermute(big.view(), row_map, y.view());
  EXPECT_EQ(values_of(y.view()), values) << "unpermute";
  kernels().add(big.view(), big.view(), {}, other.view());
  std::vector<float> twice = values;
  for (float& v : twice) v *= 2;
  EXPECT_EQ(values_of(last(other.view())), twice) << "add";

  const DeviceMatrix w(DType::bf16, 1, kCols, std::vector<float>(kCols, 1.0F));
  const DeviceMatrix rstd(DType::fp32, 1, kRows);
  kernels().rms_norm(big.view(), w.view(), other.view(), rstd.view(), 1e-6);
  double squares = 0;
  for (const float v : values) squares += static_cast<double>(v) * v;
  const double scale = 1 / std::sqrt(squares / kCols + 1e-6);
  const std::vector<float> normed = values_of(last(other.view()));
  for (std::size_t i = 0; i < normed.size(); ++i) {
    ASSERT_NEAR(normed[i], values[i] * scale,
                relative_tolerance(DType::bf16) * std::abs(values[i] * scale));
  }
}

}  // namespace
}  // namespace pleat::cuda
