// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What samples and tables call kernels.
#include "calibration/sample.hpp"

namespace pleat {

const char* name_of(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::gemm:
      return "gemm";
    case KernelClass::grouped_gemm:
      return "grouped_gemm";
    case KernelClass::attention_fwd:
      return "attention_fwd";
    case KernelClass::attention_bwd:
      return "attention_bwd";
    case KernelClass::memory_bound:
      return "memory_bound";
    case KernelClass::norm:
      return "norm";
    case KernelClass::activation:
      return "activation";
    case KernelClass::loss:
      return "loss";
    case KernelClass::router:
      return "router";
    case KernelClass::permute:
      return "permute";
    case KernelClass::quantize:
      return "quantize";
    case KernelClass::optimizer:
      return "optimizer";
    case KernelClass::rope:
      return "rope";
    case KernelClass::head_norm:
      return "head_norm";
    case KernelClass::sweep:
      return "sweep";
    case KernelClass::convert:
      return "convert";
    case KernelClass::dequantize:
      return "dequantize";
    case KernelClass::router_bwd:
      return "router_bwd";
    case KernelClass::embedding:
      return "embedding";
  }
  return "?";
}

}  // namespace pleat
