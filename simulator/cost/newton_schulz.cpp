// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Muon's orthogonalisation as the matrix products it is made of, at their usual price.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// C[m,n] = A[m,k] B[n,k] in bf16, one kernel.
OpCost product(std::int64_t m, std::int64_t n, std::int64_t k, const ClusterView& view,
               const Profile& profile) {
  const std::vector<Tensor> tensors{{"A", TensorClass::activation, DType::bf16, {{m}, {k}}},
                                    {"B", TensorClass::activation, DType::bf16, {{n}, {k}}},
                                    {"C", TensorClass::activation, DType::bf16, {{m}, {n}}}};
  Op op;
  op.kind = OpKind::gemm;
  op.phase = Phase::step;
  op.in = {TensorId{0}, TensorId{1}};
  op.out = {TensorId{2}};
  op.attr.m = {m};
  op.attr.n = {n};
  op.attr.k = {k};
  op.attr.transpose_b = true;
  op.attr.math = DType::bf16;
  return price_op(op, tensors, Binding{}, view, profile);
}

}  // namespace

OpCost newton_schulz_cost(const Op& op, const ClusterView& view, const Profile& profile) {
  constexpr double kIterations = 5;  // Megatron's --muon-num-ns-steps
  const std::int64_t a = std::min(op.attr.m.n, op.attr.n.n), b = std::max(op.attr.m.n, op.attr.n.n);
  const double times = kIterations * static_cast<double>(op.attr.experts);
  OpCost total{.time = {}, .cls = CostClass::optimizer, .flops = {}, .bytes = {},
               .source = SourceClass::measured};
  for (const OpCost& one : {product(a, a, b, view, profile), product(a, a, a, view, profile),
                            product(a, b, a, view, profile)}) {
    total.time += one.time * times;
    total.flops += one.flops * times;
    total.bytes += one.bytes * times;
    total.source = std::max(total.source, one.source);
  }
  return total;
}

}  // namespace pleat
