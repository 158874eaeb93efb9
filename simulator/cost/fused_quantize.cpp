// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms and SwiGLU that quantise what they make (docs/MODEL.md section 7.4). On a GPU a norm reads
// its input twice: for the statistics, and as it is quantised; SwiGLU once. The CPU's kernels make
// what they quantise first, in memory of their own.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// What the CPU does one after the other.
std::vector<Op> apart(const Op& op) {
  const bool norm = op.kind == OpKind::rms_norm_quantize;
  Op make, quantize;
  make.out = {op.attr.source};
  quantize.kind = OpKind::quantize;
  quantize.in = {op.attr.source};
  quantize.out = {op.out[0], op.out[1]};
  std::vector<Op> all;
  if (norm) {
    make.kind = OpKind::rms_norm;
    make.in = {op.in[0], op.in[1]};
    make.out.push_back(op.out[2]);
    if (op.in.size() > 2) {
      Op sum;
      sum.kind = OpKind::add;
      sum.in = {op.in[0], op.in[2]};
      sum.out = {op.out[3]};
      all.push_back(sum);
      make.in[0] = op.out[3];
    }
  } else {
    const bool routed = op.in.size() > 1;
    make.kind = routed ? OpKind::swiglu_prob : OpKind::swiglu;
    make.in.assign(op.in.begin(), op.in.begin() + (routed ? 2 : 1));
    if (routed) quantize.in.push_back(op.in[2]);
  }
  all.push_back(make);
  all.push_back(quantize);
  return all;
}

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
    for (const Op& part : apart(op)) {
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
