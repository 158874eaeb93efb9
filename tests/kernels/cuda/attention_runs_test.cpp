// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention's backward pass by runs of queries, against the one over all at once in any order.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/implementation.hpp"
#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

using CudaAttentionRuns = GpuTest;

TEST_F(CudaAttentionRuns, AreThePassOverAllAtOnce) {
  const AttentionShape s{
      .batch = 1, .seq = 16640, .heads = 8, .kv_groups = 1, .head_dim = 64, .scale = 0.125};
  ASSERT_TRUE(goes_in_runs(scores_of(s)));
  const CudaDevice device;
  const auto any_order = cuda_kernels(device, {.deterministic_attention = false});
  const auto in_runs = cuda_kernels(device);
  const std::int64_t cols = s.columns(), of_o = s.heads * s.head_dim;
  std::vector<float> small = test_values(s.seq * cols, 1);
  for (float& x : small) x = from_bf16(to_bf16(x / 4));
  const DeviceMatrix qkv(DType::bf16, s.seq, cols, small), o(DType::bf16, s.seq, of_o),
      d_o(DType::bf16, s.seq, of_o, test_values(s.seq * of_o, 2)), lse(DType::fp32, s.seq, s.heads),
      all(DType::bf16, s.seq, cols), runs(DType::bf16, s.seq, cols);
  any_order->attention(qkv.view(), o.view(), lse.view(), s);
  if (taken_by() != Implementation::cudnn) GTEST_SKIP() << "without cuDNN nothing goes in runs";
  any_order->attention_bwd(d_o.view(), qkv.view(), o.view(), lse.view(), all.view(), s);
  in_runs->attention_bwd(d_o.view(), qkv.view(), o.view(), lse.view(), runs.view(), s);
  EXPECT_EQ(taken_by(), Implementation::cudnn);
  device.synchronize();
  const std::vector<float> want = all.values(), got = runs.values();
  double apart = 0, most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    apart = std::max(apart, std::abs(double{want[i]} - got[i]));
    most = std::max(most, std::abs(double{want[i]}));
  }
  EXPECT_LE(apart, 1e-2 * most);
}

}  // namespace
}  // namespace pleat::cuda
