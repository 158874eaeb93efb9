// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Conversions between number formats: of a kernel's operands, and fused into norms and SwiGLU.
#include <algorithm>

#include "core/program/passes/quantize_fusion.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {

// Conversions of a CPU kernel's operands (docs/MODEL.md section 7.4): bf16 and narrow codes to fp32
// copies before it, results to bf16 after it.

namespace {

// Kernels that move elements of any type as they are.
constexpr OpKind kMoves[] = {
    OpKind::load_tokens,    OpKind::load_labels,        OpKind::embedding,
    OpKind::split_heads,    OpKind::join_heads,         OpKind::order_tokens,
    OpKind::order_ranks,    OpKind::pack_keys,          OpKind::unpack_keys,
    OpKind::permute,        OpKind::unpermute_bwd,      OpKind::sort_chunks,
    OpKind::unsort_chunks,  OpKind::concat_columns,     OpKind::concat_columns_bwd,
    OpKind::concat_rows,    OpKind::concat_rows_bwd,    OpKind::zero};

bool moves_only(const Op& op, const std::vector<Tensor>& tensors) {
  if (family_of(op.kind) == OpKind::copy) {
    return tensors[op.in.front().index()].dtype == tensors[op.out.front().index()].dtype;
  }
  return std::ranges::count(kMoves, op.kind) > 0;
}

bool is_narrow(DType type) {
  return type == DType::fp8 || type == DType::mxfp8 || type == DType::nvfp4;
}

struct Conversions {
  double rounded = 0;  // elements between bf16 and fp32
  double codes = 0;    // elements read from codes
};

}  // namespace

Seconds convert_operands(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                         const ClusterView& view, const Profile& profile, OpWork& work) {
  const GpuSpec& gpu = view.cluster->gpu;
  if (!on_cpu(view) || gpu.peak_bf16 > FlopsPerSecond(0) || moves_only(op, tensors)) return {};
  Conversions sum;
  double wider = 0;  // bytes of the copies over those of the operands
  const auto add = [&](TensorId id, bool product_operand) {
    const Tensor& t = tensors[id.index()];
    const std::int64_t all = t.elements(binding);
    const bool part = op.phase == Phase::step && op.attr.n != Dim{};
    const auto n = static_cast<double>(part ? std::min(all, binding.value(op.attr.n)) : all);
    const bool narrow = product_operand && is_narrow(op.attr.math);
    if (narrow) {
      sum.codes += n;
      wider += 4 * n - static_cast<double>(bytes_of(op.attr.math, static_cast<std::int64_t>(n)));
    } else if (t.dtype == DType::bf16) {
      sum.rounded += n;
      wider += 2 * n;
    }
  };
  const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
  for (std::size_t i = 0; i < op.in.size(); ++i) add(op.in[i], product && i < 2);
  for (const TensorId id : op.out) {
    const bool in_place = std::ranges::count(op.in, id) > 0;
    if (!is_narrow(tensors[id.index()].dtype)) add(id, false);
    if (op.attr.accumulate && !in_place) add(id, false);
  }
  if (family_of(op.kind) != OpKind::quantize) work.bytes += Bytes(wider);
  Seconds time;
  const auto pass = [&](KernelClass kernel, double elements, double bytes) {
    if (elements <= 0) return;
    const EfficiencyCurve& curve = profile.kernel(kernel);
    time += kernel_time(curve, Flops(0), Bytes(elements * bytes), FlopsPerSecond(1),
                        gpu.memory_bandwidth) *
            sharing_slowdown(view, profile, curve.contention);
  };
  pass(KernelClass::convert, sum.rounded, 6);     // two bytes and four
  pass(KernelClass::dequantize, sum.codes, 5);    // a code and four
  return time;
}

// Norms and SwiGLU that quantise what they make (docs/MODEL.md section 7.4). On a GPU a norm reads
// its input twice: for the statistics, and as it is quantised; SwiGLU once. The CPU's kernels make
// what they quantise first, in memory of their own.

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
