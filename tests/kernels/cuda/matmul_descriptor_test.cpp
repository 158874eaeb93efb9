// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What cuBLASLt is told of a product. Its descriptors need no GPU.
#include "kernels/cuda/matmul_descriptor.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

namespace pleat::cuda {
namespace {

template <class T>
T attribute(const MatmulDescriptor& d, cublasLtMatmulDescAttributes_t which) {
  T value{};
  std::size_t size = 0;
  EXPECT_EQ(cublasLtMatmulDescGetAttribute(d.operation, which, &value, sizeof value, &size),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(size, sizeof value);
  return value;
}

DenseProblem of_codes() {
  DenseProblem p{.m = 32, .n = 48, .k = 64, .transpose_b = true};
  p.narrow_a = p.narrow_b = {.format = SmallFloat::e4m3, .scales = NarrowScales::tensor};
  return p;
}

TEST(MatmulDescriptor, AddsUpFastWhereItIsAskedTo) {
  DenseProblem p = of_codes();
  EXPECT_EQ(attribute<std::int8_t>(MatmulDescriptor(p), CUBLASLT_MATMUL_DESC_FAST_ACCUM), 0);
  p.fast_accumulation = true;
  EXPECT_EQ(attribute<std::int8_t>(MatmulDescriptor(p), CUBLASLT_MATMUL_DESC_FAST_ACCUM), 1);
}

// The algorithm that is fastest with one is kept apart from the other's.
TEST(MatmulDescriptor, FastSumsAreAnotherProblem) {
  DenseProblem p = of_codes();
  std::map<DenseProblem, int> chosen{{p, 1}};
  p.fast_accumulation = true;
  EXPECT_FALSE(chosen.contains(p));
}

TEST(MatmulDescriptor, CodesHaveKContiguous) {
  const MatmulDescriptor d(of_codes());
  EXPECT_EQ(attribute<cublasOperation_t>(d, CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
  EXPECT_EQ(attribute<cublasOperation_t>(d, CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_N);
}

}  // namespace
}  // namespace pleat::cuda
