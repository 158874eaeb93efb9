// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Who took the last product or attention is known, and a refusal is said once.
#include <dlfcn.h>

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/implementation.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::cuda {
extern bool emulated_cudnn;
extern void* emulated_cublaslt;
}  // namespace pleat::cuda

namespace pleat::conformance {
namespace {

using cuda::Implementation;

constexpr std::int64_t kRows = 16, kHeads = 2, kHead = 16;

class ImplementationTest : public ::testing::Test {
 protected:
  void TearDown() override {
    cuda::emulated_cudnn = false;
    cuda::emulated_cublaslt = nullptr;
    emulated_capability = 80;
  }
  // Makes the set here, so that it finds what a test has put in place.
  Implementation attention(DType type) {
    const AttentionShape s{.batch = 1, .seq = kRows, .heads = kHeads, .kv_groups = kHeads,
                           .head_dim = kHead, .scale = 0.25};
    CudaKernels k(device_, {.scratch_bytes = 256});
    std::vector<float> qkv(kRows * s.columns()), o(kRows * kHeads * kHead), lse(kRows * kHeads);
    k.attention({qkv.data(), type, kRows, s.columns()}, {o.data(), type, kRows, kHeads * kHead},
                {lse.data(), DType::fp32, kRows, kHeads}, s);
    return cuda::taken_by();
  }
  Implementation grouped() {
    std::vector<std::int32_t> counts{3, 5};
    std::vector<Bf16> a(8 * 16), b(2 * 32 * 16), c(8 * 32);
    CudaKernels k(device_, {.scratch_bytes = 256});
    k.grouped_gemm({a.data(), DType::bf16, 8, 16}, {b.data(), DType::bf16, 64, 16}, true,
                   {counts.data(), DType::i32, 1, 2}, {c.data(), DType::bf16, 8, 32});
    return cuda::taken_by();
  }

 private:
  cuda::CudaDevice device_;
};

TEST_F(ImplementationTest, AttentionIsCudnnsInBf16WhereItIs) {
  EXPECT_EQ(attention(DType::bf16), Implementation::own);
  cuda::emulated_cudnn = true;
  EXPECT_EQ(attention(DType::bf16), Implementation::cudnn);
  EXPECT_EQ(attention(DType::fp32), Implementation::own);
}

TEST_F(ImplementationTest, GroupedProductsAreTheLibrarysWhereItIs) {
  EXPECT_EQ(grouped(), Implementation::own_tensor_cores);
  emulated_capability = 90;
  cuda::emulated_cublaslt = dlopen(PLEAT_CUBLASLT_13_7, RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(grouped(), Implementation::cublaslt_groups);
  cuda::emulated_cublaslt = dlopen(PLEAT_CUBLASLT_13_6, RTLD_NOW | RTLD_LOCAL);
  testing::internal::CaptureStderr();
  EXPECT_EQ(grouped(), Implementation::own_tensor_cores);
  EXPECT_EQ(grouped(), Implementation::own_tensor_cores);
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string line =
      "cuBLASLt's grouped product is not used: version 130700 is needed, this is 130600\n";
  const std::size_t first = said.find(line);
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find(line, first + 1), std::string::npos) << "said twice";
}

TEST_F(ImplementationTest, ProductsOfFloatsGoToTheDenseLibrary) {
  const cuda::CudaDevice device;
  CudaKernels k(device, {.scratch_bytes = 256});
  std::vector<float> a(64), c(64);
  const View x{a.data(), DType::fp32, 8, 8}, y{c.data(), DType::fp32, 8, 8};
  k.gemm(x, false, x, true, y, false);
  EXPECT_EQ(cuda::taken_by(), Implementation::cublaslt);
}

TEST_F(ImplementationTest, FactsSayWhatIsLoadedAndWhyNot) {
  cuda::emulated_cublaslt = dlopen(PLEAT_CUBLASLT_13_6, RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(
      cuda::library_line(),
      "cuDNN: not emulated; cuBLASLt: 13.6.0, its grouped product: version 130700 is needed, this "
      "is 130600; CUTLASS: yes");
  cuda::emulated_cublaslt = nullptr;
  EXPECT_EQ(cuda::library_facts()[1].second, "not found");
  EXPECT_EQ(cuda::library_facts()[2].second, "no library");
}

}  // namespace
}  // namespace pleat::conformance
