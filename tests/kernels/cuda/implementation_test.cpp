// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// On Hopper libraries take what is theirs: a wrong type, layout or version would be right and slow.
#include "kernels/cuda/implementation.hpp"

#include <array>
#include <cmath>

#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/resources.hpp"
#include "tests/kernels/cuda/gpu_test.hpp"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kBatch = 2, kSeq = 256, kRows = kBatch * kSeq;

class CudaImplementation : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    device_ = std::make_unique<CudaDevice>();
    if (capability(Resources(*device_, 0)) != 90) GTEST_SKIP() << "not Hopper";
    set_ = std::make_unique<CudaKernels>(*device_);
  }
  static DeviceMatrix bf16(std::int64_t rows, std::int64_t cols) {
    return {DType::bf16, rows, cols, test_values(rows * cols, 1)};
  }
  void expect(Implementation i, const char* what) {
    device_->synchronize();
    EXPECT_STREQ(name_of(taken_by()), name_of(i)) << what << "\n" << library_line();
  }
  void expect_grouped(const char* what) {
    device_->synchronize();
    const Implementation i = taken_by();
    EXPECT_TRUE(i == Implementation::cublaslt_groups || i == Implementation::cutlass)
        << what << ": " << name_of(i) << "\n" << library_line();
  }

  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<CudaKernels> set_;
};

TEST_F(CudaImplementation, AttentionIsCudnns) {
  const AttentionShape s{.batch = kBatch, .seq = kSeq, .heads = 8, .kv_groups = 2, .head_dim = 128,
                         .scale = 0.02};
  const DeviceMatrix qkv = bf16(kRows, s.columns()), o = bf16(kRows, 8 * 128);
  const DeviceMatrix dqkv = bf16(kRows, s.columns()), lse(DType::fp32, kRows, 8);
  set_->attention(qkv.view(), o.view(), lse.view(), s);
  expect(Implementation::cudnn, "attention");
  set_->attention_bwd(o.view(), qkv.view(), o.view(), lse.view(), dqkv.view(), s);
  expect(Implementation::cudnn, "its backward pass");
}

TEST_F(CudaImplementation, LatentAttentionIsCudnns) {
  const MlaShape s{.batch = kBatch, .seq = kSeq, .heads = 8, .nope = 128, .rope = 64, .v = 128,
                   .kv_lora = 512, .scale = 0.02};
  const DeviceMatrix q = bf16(kRows, 8 * 192), kv = bf16(kRows, 8 * 256), kpe = bf16(kRows, 576);
  const DeviceMatrix dq = bf16(kRows, 8 * 192), dkv = bf16(kRows, 8 * 256), dkpe = bf16(kRows, 576);
  const DeviceMatrix o = bf16(kRows, 8 * 128), lse(DType::fp32, kRows, 8);
  set_->mla_attention(q.view(), kv.view(), kpe.view(), o.view(), lse.view(), s);
  expect(Implementation::cudnn, "MLA");
  set_->mla_attention_bwd(o.view(), q.view(), kv.view(), kpe.view(), o.view(), lse.view(),
                          dq.view(), dkv.view(), dkpe.view(), s);
  expect(Implementation::cudnn, "its backward pass");
}

// A chunk's queries and the keys of one before it, which all of them see; no mask.
TEST_F(CudaImplementation, PiecesWithoutAMaskAreCudnns) {
  const DeviceMatrix q = bf16(kRows, 8 * 128), kv = bf16(kRows, 2 * 2 * 128),
                     o = bf16(kRows, 8 * 128);
  const DeviceMatrix dq = bf16(kRows, q.view().cols), dkv = bf16(kRows, kv.view().cols);
  const DeviceMatrix lse(DType::fp32, kRows, 8);
  const std::vector<std::array<std::int32_t, 2>> visible(kRows, {0, kSeq / 2});
  const auto heads = [](View x, std::int64_t first, std::int64_t share = 1) {
    return HeadColumns{x, first, 128, 128, share};
  };
  const AttentionPiece p{.batch = kBatch, .heads = 8, .scale = 0.02, .q = {heads(q.view(), 0), {}},
                         .k = {heads(kv.view(), 0, 4), {}}, .v = heads(kv.view(), 256, 4),
                         .visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data())};
  for (const bool resume : {false, true}) {
    set_->attention_piece(p, heads(o.view(), 0), lse.view(), resume);
    expect(Implementation::cudnn, resume ? "a later piece" : "a first piece");
  }
  set_->attention_piece_bwd(p, heads(o.view(), 0), heads(o.view(), 0), lse.view(),
                            {{heads(dq.view(), 0), {}}, {heads(dkv.view(), 0, 4), {}},
                             heads(dkv.view(), 256, 4)});
  expect(Implementation::cudnn, "its backward pass");
}

TEST_F(CudaImplementation, ProductsAreLibraries) {
  const std::int64_t n = 256, k = 512;
  const std::vector<std::int32_t> counts{200, 0, 112, 200};
  DeviceBuffer there(counts.size() * sizeof counts[0]);
  there.upload(counts.data());
  const View sizes{there.data(), DType::i32, 1, 4};
  const DeviceMatrix x = bf16(kRows, k), w = bf16(4 * n, k), y = bf16(kRows, n);
  const DeviceMatrix dw(DType::fp32, 4 * n, k, std::vector<float>(4 * n * k));
  set_->gemm(x.view(), false, {w.view().data, DType::bf16, n, k}, true, y.view(), false);
  expect(Implementation::cublaslt, "dense");
  set_->grouped_gemm(x.view(), w.view(), true, sizes, y.view());
  expect_grouped("forward");
  set_->grouped_gemm(y.view(), w.view(), false, sizes, x.view());
  expect_grouped("gradient of rows");
  set_->grouped_wgrad(y.view(), x.view(), sizes, dw.view(), true);
  expect_grouped("gradient of weights");
}

}  // namespace
}  // namespace pleat::cuda
