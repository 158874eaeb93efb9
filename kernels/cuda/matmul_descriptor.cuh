// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A dense product in cuBLASLt's words. It counts columns first, so a row-major product is that of the
// transposes in the other order: c^T[n,m] = op(b)^T op(a)^T, where b and a in memory already are b^T
// and a^T.
#pragma once

#include "kernels/cuda/cublas_check.cuh"
#include "kernels/cuda/dense_gemm.hpp"

namespace pleat::cuda {

class MatmulDescriptor {
 public:
  explicit MatmulDescriptor(const DenseProblem& p) {
    PLEAT_CUBLAS_CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b);
    set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a);
    const cudaDataType_t in = type(p.inputs), out = type(p.output);
    first = layout(in, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k);
    second = layout(in, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m);
    result = layout(out, p.n, p.m);
  }
  ~MatmulDescriptor() {
    cublasLtMatrixLayoutDestroy(result);
    cublasLtMatrixLayoutDestroy(second);
    cublasLtMatrixLayoutDestroy(first);
    cublasLtMatmulDescDestroy(operation);
  }
  MatmulDescriptor(const MatmulDescriptor&) = delete;
  MatmulDescriptor& operator=(const MatmulDescriptor&) = delete;

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;

 private:
  static cudaDataType_t type(DType t) { return t == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F; }
  void set_transpose(cublasLtMatmulDescAttributes_t attribute, bool transpose) {
    const cublasOperation_t value = transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
    PLEAT_CUBLAS_CHECK(
        cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  }
  static cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t cols) {
    cublasLtMatrixLayout_t made = nullptr;
    PLEAT_CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                                  static_cast<std::uint64_t>(cols), rows));
    return made;
  }
};

}  // namespace pleat::cuda
