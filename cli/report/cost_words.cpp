// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/cost_words.hpp"

namespace pleat::cli {

const char* words_for(CostClass cls) {
  switch (cls) {
    case CostClass::gemm:
      return "dense matrix products";
    case CostClass::grouped_gemm:
      return "expert matrix products";
    case CostClass::attention:
      return "attention";
    case CostClass::memory_bound:
      return "kernels that wait for device memory";
    case CostClass::tp_comm:
      return "tensor-parallel exchange that nothing hides";
    case CostClass::cp_comm:
      return "context-parallel exchange that nothing hides";
    case CostClass::ep_comm:
      return "the experts' all-to-all that nothing hides";
    case CostClass::pp_comm:
      return "waiting for transfers between stages";
    case CostClass::dp_comm:
      return "gradient and weight exchange that nothing hides";
    case CostClass::offload:
      return "copies to and from host memory that nothing hides";
    case CostClass::optimizer:
      return "the optimizer";
    case CostClass::host:
      return "the host, which launches kernels too slowly";
    case CostClass::bubble:
      return "the pipeline bubble";
  }
  return "?";
}

const char* short_words_for(CostClass cls) {
  switch (cls) {
    case CostClass::gemm:
      return "dense products";
    case CostClass::grouped_gemm:
      return "expert products";
    case CostClass::attention:
      return "attention";
    case CostClass::memory_bound:
      return "memory-bound kernels";
    case CostClass::tp_comm:
      return "exposed TP exchange";
    case CostClass::cp_comm:
      return "exposed CP exchange";
    case CostClass::ep_comm:
      return "exposed expert exchange";
    case CostClass::pp_comm:
      return "waiting for stage transfers";
    case CostClass::dp_comm:
      return "exposed gradient exchange";
    case CostClass::offload:
      return "exposed host copies";
    case CostClass::optimizer:
      return "optimizer";
    case CostClass::host:
      return "slow kernel launches";
    case CostClass::bubble:
      return "pipeline bubble";
  }
  return "?";
}

}  // namespace pleat::cli
