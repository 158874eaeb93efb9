// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention in fp8 by cuDNN's kernel for codes beside bf16's attention of the same rounded
// operands: three digits of probabilities and of o are left. It must be cuDNN's: the results
// differ.
#include <algorithm>
#include <array>
#include <cmath>

#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kBatch = 2, kSeq = 512, kRows = kBatch * kSeq, kHeads = 8, kGroups = 2;
constexpr std::int64_t kWidth = 128, kShare = kHeads / kGroups;
constexpr std::int64_t kCols = (kHeads + 2 * kGroups) * kWidth;

using AttentionOfCodes = GpuTest;

struct Results {
  std::vector<float> o, lse, gradient;
};

Results attend(KernelSet& k, const CudaDevice& device) {
  std::vector<std::int32_t> visible;
  for (std::int64_t r = 0; r < kRows; ++r) {
    visible.insert(visible.end(), {0, static_cast<std::int32_t>(r % kSeq + 1)});
  }
  const DeviceMatrix qkv(DType::bf16, kRows, kCols, test_values(kRows * kCols, 1));
  const DeviceMatrix d_o(DType::bf16, kRows, kHeads * kWidth,
                         test_values(kRows * kHeads * kWidth, 2));
  const DeviceMatrix o(DType::bf16, kRows, kHeads * kWidth), lse(DType::fp32, kRows, kHeads);
  const DeviceMatrix gradient(DType::bf16, kRows, kCols, std::vector<float>(kRows * kCols));
  const auto columns = [](View x) {
    return std::array{HeadColumns{x, 0, kWidth, kWidth},
                      HeadColumns{x, kHeads * kWidth, kWidth, kWidth, kShare},
                      HeadColumns{x, (kHeads + kGroups) * kWidth, kWidth, kWidth, kShare}};
  };
  const auto x = columns(qkv.view()), g = columns(gradient.view());
  const AttentionPiece p{.batch = kBatch,
                         .heads = kHeads,
                         .scale = 0.02,
                         .q = {x[0], {}},
                         .k = {x[1], {}},
                         .v = x[2],
                         .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data()),
                         .math = DType::fp8};
  const HeadColumns to{o.view(), 0, kWidth, kWidth}, from{d_o.view(), 0, kWidth, kWidth};
  k.attention_piece(p, to, lse.view(), false);
  k.attention_piece_bwd(p, from, to, lse.view(), {{g[0], {}}, {g[1], {}}, g[2]});
  device.synchronize();
  return {o.values(), lse.values(), gradient.values()};
}

void expect_close(const std::vector<float>& got, const std::vector<float>& want, const char* what) {
  double most = 0, apart = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_TRUE(std::isfinite(got[i])) << what << " at " << i;
    most = std::max(most, std::abs(static_cast<double>(want[i])));
    apart = std::max(apart, std::abs(static_cast<double>(got[i]) - want[i]));
  }
  EXPECT_LT(apart, 0.08 * most) << what;
}

TEST_F(AttentionOfCodes, IsNearBf16sOfTheSameOperands) {
  const CudaDevice device;
  const auto by_codes = cuda_kernels(device);
  const auto wide = cuda_kernels(device, {.attention_of_codes = false});
  const Results got = attend(*by_codes, device), want = attend(*wide, device);
  expect_close(got.o, want.o, "o");
  expect_close(got.lse, want.lse, "lse");
  expect_close(got.gradient, want.gradient, "gradients");
  EXPECT_NE(got.o, want.o) << "cuDNN has taken no codes";
  EXPECT_EQ(attend(*by_codes, device).gradient, got.gradient);
}

}  // namespace
}  // namespace pleat::cuda
