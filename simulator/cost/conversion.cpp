// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Conversions of a CPU kernel's operands (docs/MODEL.md section 7.4): bf16 and narrow codes to fp32
// copies before it, results to bf16 after it.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
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

}  // namespace pleat
