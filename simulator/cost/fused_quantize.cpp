// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms and SwiGLU that quantise what they make (docs/MODEL.md section 7.4). On a GPU a norm reads
// its input twice: for the statistics, and as it is quantised; SwiGLU once. The CPU's kernels make
// what they quantise first, in memory of their own.
#include <algorithm>

#include "core/program/passes/quantize_fusion.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// A GPU's: both parts of a norm, the one kernel of SwiGLU. Every operand that is named is read or
// written whole.
struct Kernel {
  KernelClass cls = KernelClass::quantize;
  std::vector<TensorId> operands;
};
std::vector<Kernel> kernels_of(const Op& op) {
  Kernel last{KernelClass::quantize, {op.out[0], op.out[1]}};
  if (op.kind == OpKind::swiglu_quantize) {
    last.operands.insert(last.operands.end(), op.in.begin(), op.in.end());
    return {last};
  }
  const TensorId rstd = op.out[2];
  Kernel statistics{KernelClass::norm, {op.in[0], rstd}};
  const bool adds = op.in.size() > 2;
  if (adds) statistics.operands.insert(statistics.operands.end(), {op.in[2], op.out[3]});
  last.operands.insert(last.operands.end(), {adds ? op.out[3] : op.in[0], op.in[1], rstd});
  return {statistics, last};
}

}  // namespace

OpCost fused_quantize_cost(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                           const ClusterView& view, const Profile& profile) {
  OpCost cost;
  cost.cls = CostClass::memory_bound;
  cost.source = SourceClass::measured;
  if (on_cpu(view)) {
    for (const Op& part : taken_apart(op)) {  // one after the other
      const OpCost one = price_op(part, tensors, binding, view, profile);
      cost.time += one.time;
      cost.bytes += one.bytes;
      cost.source = std::max(cost.source, one.source);
    }
    return cost;
  }
  for (const Kernel& kernel : kernels_of(op)) {
    double bytes = 0;
    for (TensorId id : kernel.operands) {
      bytes += static_cast<double>(tensors[id.index()].bytes(binding));
    }
    const EfficiencyCurve& curve = profile.kernel(kernel.cls);
    cost.time += kernel_time(curve, Flops(0), Bytes(bytes), FlopsPerSecond(1),
                             view.cluster->gpu.memory_bandwidth);
    cost.bytes += Bytes(bytes);
    cost.source = std::max(cost.source, curve.source);
  }
  return cost;
}

}  // namespace pleat
