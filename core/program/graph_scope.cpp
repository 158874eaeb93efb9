// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/graph_scope.hpp"

namespace pleat {
namespace {

bool is_routed(Module m) {
  return m == Module::dispatch || m == Module::experts || m == Module::moe_act ||
         m == Module::combine;
}

}  // namespace

bool is_of_attention(const Op& op) {
  switch (op.module) {
    case Module::qkv:
    case Module::mla_up_proj:
    case Module::core_attn:
    case Module::attn_proj:
      return true;
    case Module::layernorm:
    case Module::residual:  // both halves have these
      return op.of_attention;
    case Module::mlp:
    case Module::moe_act:
    case Module::shared_experts:
    case Module::moe:
    case Module::embedding:
    case Module::router:
    case Module::dispatch:
    case Module::experts:
    case Module::combine:
    case Module::head:
    case Module::grad_sync:
    case Module::optimizer:
    case Module::pipeline:
      return false;
  }
  return false;
}

bool is_in_scope(CudaGraph scope, const Op& op) {
  switch (scope) {
    case CudaGraph::none:
      return false;
    case CudaGraph::attention:
      return is_of_attention(op);
    case CudaGraph::router:
      return op.module == Module::router;
    case CudaGraph::partial:
      return !is_routed(op.module);
    case CudaGraph::full_iteration:
      return true;
  }
  return false;
}

}  // namespace pleat
