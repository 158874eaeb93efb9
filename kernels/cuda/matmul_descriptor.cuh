// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A dense product in cuBLASLt's words, and its errors as exceptions.
// PLEAT_CUBLAS_CHECK(call): throws DeviceError unless the call succeeded.
#pragma once

#include <cublasLt.h>

#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/device_error.hpp"

#define PLEAT_CUBLAS_CHECK(call)                                                              \
  do {                                                                                        \
    const cublasStatus_t pleat_status = (call);                                               \
    if (pleat_status != CUBLAS_STATUS_SUCCESS)                                                \
      throw ::pleat::DeviceError(#call, cublasLtGetStatusString(pleat_status), __FILE__,      \
                                 __LINE__);                                                   \
  } while (false)

namespace pleat::cuda {

// A dense product in cuBLASLt's words. It counts columns first, so a row-major product is that of
// the transposes in the other order: c^T[n,m] = op(b)^T op(a)^T, where b and a in memory already
// are b^T and a^T.

class MatmulDescriptor {
 public:
  explicit MatmulDescriptor(const DenseProblem& p) {
    PLEAT_CUBLAS_CHECK(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    if (p.narrow_a.scales != NarrowScales::none) {  // K is contiguous in both
      set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, true);
      set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, false);
      first = layout(type(p.narrow_b.format), p.k, p.n);
      second = layout(type(p.narrow_a.format), p.k, p.m);
      result = layout(type(p.output), p.n, p.m);
      if (p.fast_accumulation) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
      return;
    }
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

  // Of narrow operands; `device_factors`: alpha and beta are in device memory.
  void set_scales(const NarrowOperand& a, const NarrowOperand& b, bool device_factors) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode(b.kind.scales));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode(a.kind.scales));
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, b.scales);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, a.scales);
    if (device_factors) {
      set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
    }
  }

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    PLEAT_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  }
  static std::int32_t mode(NarrowScales scales) {
    switch (scales) {
      case NarrowScales::none:
      case NarrowScales::tensor: return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
      case NarrowScales::vec128: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
      case NarrowScales::square128: return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
      case NarrowScales::micro32: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
      case NarrowScales::nvfp4_16: return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    }
    return 0;
  }
  static cudaDataType_t type(pleat::SmallFloat format) {
    switch (format) {
      case pleat::SmallFloat::e4m3: return CUDA_R_8F_E4M3;
      case pleat::SmallFloat::e5m2: return CUDA_R_8F_E5M2;
      case pleat::SmallFloat::e2m1: return CUDA_R_4F_E2M1;
    }
    return CUDA_R_8F_E4M3;
  }
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
