// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The price of one operation: its work (op_work.hpp) on the profile's curve for its kind.
#include <algorithm>

#include "core/program/passes/quantize_fusion.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

CostClass class_of_group(Group group) {
  switch (group) {
    case Group::tp: return CostClass::tp_comm;
    case Group::cp_heads:
    case Group::cp_ring:
    case Group::cp: return CostClass::cp_comm;
    case Group::ep:
    case Group::etp_ep:
    case Group::etp: return CostClass::ep_comm;
    case Group::pp_next:
    case Group::pp_prev: return CostClass::pp_comm;
    case Group::none:
    case Group::dp:
    case Group::dp_cp:
    case Group::edp:
    case Group::dp_shard:
    case Group::dp_replicas:
    case Group::edp_shard:
    case Group::edp_replicas:
    case Group::copies:
    case Group::embedding:
    case Group::world: return CostClass::dp_comm;
  }
  return CostClass::dp_comm;
}

}  // namespace

const char* name_of(CostClass cls) {
  switch (cls) {
    case CostClass::gemm: return "gemm";
    case CostClass::grouped_gemm: return "grouped_gemm";
    case CostClass::attention: return "attention";
    case CostClass::memory_bound: return "memory_bound";
    case CostClass::tp_comm: return "tp_comm";
    case CostClass::cp_comm: return "cp_comm";
    case CostClass::ep_comm: return "ep_comm";
    case CostClass::pp_comm: return "pp_comm";
    case CostClass::dp_comm: return "dp_comm";
    case CostClass::offload: return "offload";
    case CostClass::optimizer: return "optimizer";
    case CostClass::host: return "host";
    case CostClass::bubble: return "bubble";
  }
  return "?";
}

CostClass class_of(const Op& op) {
  if (op.on_host) return CostClass::offload;
  if (is_collective(op.kind)) return class_of_group(op.group);
  switch (op.kind) {
    case OpKind::gemm: return CostClass::gemm;
    case OpKind::grouped_gemm: return CostClass::grouped_gemm;
    case OpKind::attention:
    case OpKind::attention_bwd:
    case OpKind::mla_attention:
    case OpKind::mla_attention_bwd:
    case OpKind::token_mixing:
    case OpKind::token_mixing_bwd:
    case OpKind::selected_attention:
    case OpKind::selected_attention_bwd: return CostClass::attention;
    default: break;
  }
  const bool on_gpu = op.kind == OpKind::newton_schulz || memory_bound_kernel(op.kind).has_value();
  if (!on_gpu) return CostClass::offload;
  return op.phase == Phase::step ? CostClass::optimizer : CostClass::memory_bound;
}

Seconds kernel_time(const EfficiencyCurve& curve, Flops flops, Bytes bytes, FlopsPerSecond peak,
                    BytesPerSecond bandwidth) {
  Seconds arithmetic;
  if (flops > Flops(0)) arithmetic = (flops + curve.half_work) / (peak * curve.max_efficiency);
  return curve.fixed + std::max(arithmetic, bytes / (bandwidth * curve.memory_efficiency));
}

FlopsPerSecond usable_peak(const GpuSpec& gpu, DType math) {
  for (FlopsPerSecond peak : {gpu.peak(math), gpu.peak_bf16, gpu.peak_fp32}) {
    if (peak > FlopsPerSecond(0)) return peak;
  }
  PLEAT_ASSERT(!"a device without arithmetic");
  return {};
}

DType math_of(const Op& op, const std::vector<Tensor>& tensors) {
  const bool said = op.attr.math != OpAttributes{}.math;
  const bool attention = class_of(op) == CostClass::attention;
  return attention && !said ? tensors[op.in.front().index()].dtype : op.attr.math;
}

double clock_of(const SustainedClock& clock, KernelClass kernel, DType math) {
  if (kernel == KernelClass::attention_fwd || kernel == KernelClass::attention_bwd) {
    return clock.attention;
  }
  if (math == DType::nvfp4) return clock.gemm_fp4;
  return math == DType::fp32 || math == DType::bf16 ? clock.gemm_bf16 : clock.gemm_fp8;
}

double sharing_slowdown(const ClusterView& view, const Profile& profile, double contention) {
  const int cores = view.cluster->shared_cores;
  if (cores <= 0 || view.ranks <= 1) return 1.0;
  const double shared = std::max(1.0, static_cast<double>(view.ranks) / cores);
  if (contention <= 0) return view.ranks > cores ? shared * profile.sharing_penalty : 1.0;
  const double busy = cores == 1 ? 1.0 : std::min(1.0, (view.ranks - 1.0) / (cores - 1.0));
  return shared * (1 + (contention - 1) * busy);
}

// The optimizer's step on the CPU: bytes over this rank's share of the node's memory rate.
OpCost host_cost(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                 const ClusterView& view) {
  // Assumption: an AdamW of vector instructions on all cores (DeepSpeed's and torch's fused ones)
  // reaches half of it.
  constexpr double kShareOfRate = 0.5;
  const ClusterSpec& cluster = *view.cluster;
  const BytesPerSecond rate = cluster.host_memory_bandwidth > BytesPerSecond(0)
                                  ? cluster.host_memory_bandwidth / cluster.gpus_per_node
                                  : cluster.gpu.host_link;
  const Bytes bytes = memory_bound_work(op, tensors, binding).bytes;
  return {.time = rate > BytesPerSecond(0) ? bytes / (rate * kShareOfRate) : Seconds(0),
          .cls = CostClass::offload,
          .flops = {},
          .bytes = bytes,
          .source = SourceClass::datasheet};
}

// Over the host link, which nothing else uses.
OpCost offload_cost(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                    const ClusterView& view, const Profile& profile) {
  if (op.kind == OpKind::release) {
    return {.time = {},
            .cls = CostClass::offload,
            .flops = {},
            .bytes = {},
            .source = SourceClass::measured};
  }
  const BytesPerSecond link = view.cluster->gpu.host_link;
  // The step names both sides: the host's is as large as what moves.
  const bool out = family_of(op.kind) == OpKind::offload;
  const bool both = !op.in.empty() && !op.out.empty();
  const TensorId moved = out == both ? op.out.front() : op.in.front();
  const Bytes bytes(static_cast<double>(tensors[moved.index()].bytes(binding)));
  if (on_cpu(view)) {  // a copy that the rank makes itself
    const EfficiencyCurve& copy = profile.kernel(KernelClass::sweep);
    return {.time = kernel_time(copy, Flops(0), bytes * 2, FlopsPerSecond(1),
                                view.cluster->gpu.memory_bandwidth) *
                    sharing_slowdown(view, profile, copy.contention),
            .cls = CostClass::offload,
            .flops = {},
            .bytes = bytes,
            .source = copy.source};
  }
  return {.time = link > BytesPerSecond(0) ? bytes / link : Seconds(0),
          .cls = CostClass::offload,
          .flops = {},
          .bytes = bytes,
          .source = SourceClass::datasheet};
}

OpCost price_op(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding,
                const ClusterView& view, const Profile& profile) {
  if (op.on_host && !on_cpu(view)) return host_cost(op, tensors, binding, view);
  if (op.kind == OpKind::newton_schulz) return newton_schulz_cost(op, view, profile);
  if (makes_codes(op)) return fused_quantize_cost(op, tensors, binding, view, profile);
  const CostClass cls = class_of(op);
  OpWork work;
  switch (op.on_host ? CostClass::optimizer : cls) {
    case CostClass::gemm:
    case CostClass::grouped_gemm: work = gemm_work(op, tensors, binding); break;
    case CostClass::attention: work = attention_work(op, tensors, binding); break;
    case CostClass::memory_bound:
    case CostClass::optimizer:
      work = memory_bound_work(op, tensors, binding);
      work.bytes += quantize_extra(op, tensors, binding, view.precision) * op.attr.passes;
      break;
    case CostClass::tp_comm:
    case CostClass::cp_comm:
    case CostClass::ep_comm:
    case CostClass::pp_comm:
    case CostClass::dp_comm: return collective_cost(op, tensors, binding, view, profile);
    case CostClass::offload: return offload_cost(op, tensors, binding, view, profile);
    case CostClass::host:
    case CostClass::bubble: PLEAT_ASSERT(!"no operation is a bubble"); break;
  }
  const Seconds conversions = convert_operands(op, tensors, binding, view, profile, work);
  std::optional<KernelPrice> price;
  if (work.kernel == KernelClass::gemm || work.kernel == KernelClass::grouped_gemm) {
    price = gemm_price(op, work, binding, view, profile);
  } else if (cls == CostClass::attention) {
    price = attention_price(op, work, tensors, binding, view, profile);
  }
  if (!price) {
    const GpuSpec& gpu = view.cluster->gpu;
    const EfficiencyCurve& curve = profile.kernel(work.kernel);
    const DType math = math_of(op, tensors);
    FlopsPerSecond peak =
        usable_peak(gpu, math) * clock_of(profile.sustained_clock, work.kernel, math);
    if (op.kind == OpKind::token_mixing || op.kind == OpKind::token_mixing_bwd) {
      peak *= profile.token_mixing_rate;
    }
    price = {kernel_time(curve, work.flops, work.bytes, peak, gpu.memory_bandwidth), curve.source};
  }
  // Further kernels of a chain are small: each takes what a kernel takes at least.
  const Seconds unfused = profile.kernel(KernelClass::memory_bound).fixed *
                          static_cast<double>(op.attr.unfused_kernels);
  const double slowest = cls == CostClass::attention ? op.attr.slowest : 1.0;
  const double contention = profile.kernel(work.kernel).contention;
  return {
      .time = price->time * (sharing_slowdown(view, profile, contention) * slowest) + conversions +
              unfused,
      .cls = cls,
      .flops = work.flops,
      .bytes = work.bytes,
      .source = price->source};
}

}  // namespace pleat
