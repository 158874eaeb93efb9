// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's functions that this folder calls, by way of the library that is loaded at the first
// call: a program that computes on no GPU starts without it, and where there is none.
#include <cublasLt.h>
#include <cublas_api.h>
#include <dlfcn.h>

#include <cstddef>
#include <string>

#include "kernels/cuda/device_error.hpp"
#include "kernels/cuda/grouped_library.hpp"

namespace {

void* library() {
  static void* const handle = [] {
    void* const found = pleat::cuda::cublaslt_handle();
    if (found == nullptr) throw pleat::DeviceError("dlopen", dlerror(), __FILE__, __LINE__);
    return found;
  }();
  return handle;
}

// What grouped_library.hpp says of the same interface.
namespace lt = pleat::cuda::lt;
static_assert(sizeof(lt::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(sizeof(lt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(offsetof(lt::Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(lt::kCompute32 == CUBLAS_COMPUTE_32F && lt::kFp32 == CUDA_R_32F &&
              lt::kBf16 == CUDA_R_16BF && lt::kPointerMode == CUBLASLT_MATMUL_DESC_POINTER_MODE &&
              lt::kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA &&
              lt::kTransposeB == CUBLASLT_MATMUL_DESC_TRANSB &&
              lt::kPointersOnDevice == CUBLASLT_POINTER_MODE_DEVICE && lt::kNormal == CUBLAS_OP_N &&
              lt::kTransposed == CUBLAS_OP_T &&
              lt::kMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              lt::kAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              lt::kAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              lt::kAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              lt::kAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

template <class Function>
Function* function(const char* name) {
  void* const found = dlsym(library(), name);
  if (found == nullptr) throw pleat::DeviceError("dlsym", name, __FILE__, __LINE__);
  return reinterpret_cast<Function*>(found);
}

}  // namespace

void* pleat::cuda::cublaslt_handle() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* const found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (found != nullptr) return found;  // else where it was when this was built
  return dlopen((PLEAT_CUDA_LIBRARIES "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

#define PLEAT_FORWARD(name, ...)                               \
  static auto* const loaded = function<decltype(name)>(#name); \
  return loaded(__VA_ARGS__)

size_t cublasLtGetVersion() { PLEAT_FORWARD(cublasLtGetVersion); }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { PLEAT_FORWARD(cublasLtCreate, handle); }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { PLEAT_FORWARD(cublasLtDestroy, handle); }
const char* cublasLtGetStatusString(cublasStatus_t s) { PLEAT_FORWARD(cublasLtGetStatusString, s); }
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t c,
                                        cudaDataType_t s) {
  PLEAT_FORWARD(cublasLtMatmulDescCreate, d, c, s);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  PLEAT_FORWARD(cublasLtMatmulDescDestroy, d);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t a, const void* value,
                                              size_t size) {
  PLEAT_FORWARD(cublasLtMatmulDescSetAttribute, d, a, value, size);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* l, cudaDataType_t type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  PLEAT_FORWARD(cublasLtMatrixLayoutCreate, l, type, rows, cols, ld);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  PLEAT_FORWARD(cublasLtMatrixLayoutDestroy, l);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  PLEAT_FORWARD(cublasLtMatmulPreferenceCreate, p);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  PLEAT_FORWARD(cublasLtMatmulPreferenceDestroy, p);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t a,
                                                    const void* value, size_t size) {
  PLEAT_FORWARD(cublasLtMatmulPreferenceSetAttribute, p, a, value, size);
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t out,
    cublasLtMatmulPreference_t p, int asked, cublasLtMatmulHeuristicResult_t results[],
    int* count) {
  PLEAT_FORWARD(cublasLtMatmulAlgoGetHeuristic, handle, d, a, b, c, out, p, asked, results, count);
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t d, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* out,
                              cublasLtMatrixLayout_t of_out, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t bytes, cudaStream_t stream) {
  PLEAT_FORWARD(cublasLtMatmul, handle, d, alpha, a, of_a, b, of_b, beta, c, of_c, out, of_out,
                algo, workspace, bytes, stream);
}
