// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The work of attention, and its time from measured rates.
#include <algorithm>
#include <cmath>

#include "simulator/cost/op_work.hpp"

namespace pleat {

// Causal attention: half of the score matrix is computed. Forward is two products, backward five
// (docs/MODEL.md section 7.2): 2 b s^2 n (dqk + dv)/2 and 2 b s^2 n (3 dqk + 2 dv)/2.
// With a window of W keys W - W(W-1)/(2s) are read on average instead of s/2. Recurrences and
// attention over selected keys say their work themselves.

namespace {

double keys_per_query(const OpAttributes& attr) {
  // Packed: the document a token lies in stands for all.
  const double all = static_cast<double>(attr.seq), w = static_cast<double>(attr.window);
  const double s = attr.packed > 0 ? std::min(attr.packed, all) : all;
  return attr.window == 0 || w >= s ? s / 2.0 : w - w * (w - 1.0) / (2.0 * s);
}

}  // namespace

OpWork attention_work(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  const bool mixes = op.kind == OpKind::token_mixing || op.kind == OpKind::selected_attention;
  if (mixes || op.kind == OpKind::token_mixing_bwd || op.kind == OpKind::selected_attention_bwd) {
    return {.kernel = mixes ? KernelClass::attention_fwd : KernelClass::attention_bwd,
            .flops = Flops(op.attr.flops),
            .bytes = operand_bytes(op, tensors, binding)};
  }
  const bool mla = op.kind == OpKind::mla_attention || op.kind == OpKind::mla_attention_bwd;
  const bool backward =
      op.kind == OpKind::attention_bwd || op.kind == OpKind::mla_attention_bwd;
  const double dqk = static_cast<double>(mla ? op.attr.nope_dim + op.attr.rope_dim
                                             : op.attr.head_dim);
  const double dv = op.attr.v_dim > 0 ? static_cast<double>(op.attr.v_dim) : dqk;
  PLEAT_ASSERT(dqk > 0 && op.attr.seq > 0);
  // o (forward result) and do (backward operand) are [S, n*dv] on this rank: local tokens, each of
  // them reading so many keys; the columns give the local heads.
  const TensorId o = backward ? op.in.front() : op.out.front();
  const Tensor& output = tensors[o.index()];
  const double rows = static_cast<double>(output.rows(binding));
  const double heads = static_cast<double>(output.columns(binding)) / dv;
  const double parts = static_cast<double>(std::max<std::int64_t>(1, op.attr.pieces));
  const double scores = rows * keys_per_query(op.attr) * heads / parts;
  const double per_score = backward ? 3.0 * dqk + 2.0 * dv : dqk + dv;
  return {.kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
          .flops = Flops(2.0 * scores * per_score),
          .bytes = operand_bytes(op, tensors, binding)};
}

// Time of attention from measured rates by sequence length (docs/MODEL.md 7.2), lowered when there
// are too few blocks of queries for the processors.

namespace {

constexpr double kBlockRows = 256;  // queries of one block, forward; two blocks fill an SM
constexpr double kBlockKeys = 128;  // keys of one block, backward; one block fills an SM
constexpr double kLowestOccupancy = 0.35;
constexpr double kLowestShare = 0.3;     // of the rate at the shortest measured length
constexpr double kMeasuredHead = 128;    // size of the heads that were measured

// Small heads: the exponentials of the softmax take as long as for large ones, so the time of a
// score goes as d + d0, with d0 = 64 (assumption: at 64 the matrix units of Hopper need as long as
// its exponential units).
double head_share(double head) {
  constexpr double kSoftmax = 64;
  if (head >= kMeasuredHead) return 1.0;
  return head / kMeasuredHead * (kMeasuredHead + kSoftmax) / (head + kSoftmax);
}

// The next wider arithmetic stands in for one that was not measured.
const AttentionRate* find_rate(const AttentionRates& rates, AttentionLayout layout,
                               AttentionMath math, bool backward) {
  for (std::size_t l : {static_cast<std::size_t>(layout), std::size_t{0}}) {
    for (std::size_t m = static_cast<std::size_t>(math) + 1; m-- > 0;) {
      const AttentionRate& rate = rates[l][m][backward ? 1 : 0];
      if (!rate.empty()) return &rate;
    }
  }
  return nullptr;
}

AttentionMath math_class(DType math) {
  if (math == DType::fp8) return AttentionMath::fp8;
  if (math == DType::mxfp8 || math == DType::nvfp4) return AttentionMath::mxfp8;
  return AttentionMath::bf16;
}

struct Rate {
  double flops_per_second = 0;
  bool on_point = false;
};

// Linear in ln s between the points, along the first slope below them, constant above.
Rate rate_at(const AttentionRate& r, double seq) {
  const double x = std::log(std::max(1.0, seq));
  const std::size_t last = r.log_seq.size() - 1;
  if (last == 0 || x >= r.log_seq[last]) return {r.rate[last], x == r.log_seq[last]};
  std::size_t i = 0;
  while (i + 1 < last && x >= r.log_seq[i + 1]) ++i;
  const double share = (x - r.log_seq[i]) / (r.log_seq[i + 1] - r.log_seq[i]);
  const double rate = r.rate[i] + share * (r.rate[i + 1] - r.rate[i]);
  return {std::max(rate, kLowestShare * r.rate.front()), share == 0};
}

double occupancy_of(const AttentionCall& call, int sms) {
  if (sms <= 0) return 1;
  const double blocks = call.heads * call.rows / (call.backward ? kBlockKeys : 2 * kBlockRows);
  return std::clamp(blocks / sms, kLowestOccupancy, 1.0);
}

// Two batched products over the whole square, forward; four, backward (nothing is computed again);
// softmax and dropout between them, bound by memory.
KernelPrice stored_scores_price(const Op& op, const OpWork& work,
                                const std::vector<Tensor>& tensors, const Binding& binding,
                                const ClusterView& view, const Profile& profile) {
  constexpr double kProductShare = 0.5;  // of the peak: the depth of one product is a head's size
  constexpr double kKernels = 5;
  const bool backward = work.kernel == KernelClass::attention_bwd;
  const double d = static_cast<double>(op.attr.head_dim);
  const Tensor& output = tensors[(backward ? op.in.front() : op.out.front()).index()];
  const double scores = static_cast<double>(output.elements(binding)) / d *
                        static_cast<double>(op.attr.seq);
  const GpuSpec& gpu = view.cluster->gpu;
  const FlopsPerSecond rate = usable_peak(gpu, DType::bf16) * kProductShare *
                              clock_of(profile.sustained_clock, work.kernel, DType::bf16);
  const EfficiencyCurve& passes = profile.kernel(KernelClass::activation);
  const double products = backward ? 4 : 2;
  return {Flops(2.0 * products * scores * d) / rate +
              Bytes(2.0 * op.attr.score_passes * scores) /
                  (gpu.memory_bandwidth * passes.memory_efficiency) +
              passes.fixed * (backward ? 2 * kKernels : kKernels),
          SourceClass::fitted};
}

}  // namespace

double attention_share(const AttentionCall& call, int sms) {
  return occupancy_of(call, sms) * head_share(call.value_head);
}

Seconds attention_time(const AttentionRate& rate, const EfficiencyCurve& curve, const GpuSpec& gpu,
                       const AttentionCall& call, double clock) {
  const FlopsPerSecond speed(rate_at(rate, call.seq).flops_per_second *
                             occupancy_of(call, gpu.sms) * head_share(call.value_head) * clock);
  return curve.fixed +
         std::max(call.flops / speed,
                  call.bytes / (gpu.memory_bandwidth * curve.memory_efficiency));
}

namespace {

// Attention over selected keys: a share of the matrix peak that published kernels reach on Hopper
// and Blackwell alike. Its bytes are those of the keys that each query reads from the caches, so
// arithmetic bounds it.
KernelPrice selected_keys_price(const Op& op, const OpWork& work,
                                const std::vector<Tensor>& tensors, const ClusterView& view,
                                const Profile& profile) {
  const bool backward = op.kind == OpKind::selected_attention_bwd;
  const EfficiencyCurve& curve = profile.kernel(work.kernel);
  const GpuSpec& gpu = view.cluster->gpu;
  const FlopsPerSecond rate =
      usable_peak(gpu, math_of(op, tensors)) *
      (backward ? profile.selected_keys_backward : profile.selected_keys_forward);
  return {curve.fixed + std::max(work.flops / rate,
                                 work.bytes / (gpu.memory_bandwidth * curve.memory_efficiency)),
          std::max(curve.source, SourceClass::interpolated)};
}

}  // namespace

std::optional<KernelPrice> attention_price(const Op& op, const OpWork& work,
                                           const std::vector<Tensor>& tensors,
                                           const Binding& binding, const ClusterView& view,
                                           const Profile& profile) {
  if (op.kind == OpKind::selected_attention || op.kind == OpKind::selected_attention_bwd)
    return selected_keys_price(op, work, tensors, view, profile);
  if (op.attr.score_passes > 0)
    return stored_scores_price(op, work, tensors, binding, view, profile);
  const bool mla = op.kind == OpKind::mla_attention || op.kind == OpKind::mla_attention_bwd;
  const bool causal = mla || op.kind == OpKind::attention || op.kind == OpKind::attention_bwd;
  if (!causal) return std::nullopt;  // recurrences and compressed keys: on the efficiency curve
  const bool backward = work.kernel == KernelClass::attention_bwd;
  const double dqk = static_cast<double>(mla ? op.attr.nope_dim + op.attr.rope_dim
                                             : op.attr.head_dim);
  const double dv = op.attr.v_dim > 0 ? static_cast<double>(op.attr.v_dim) : dqk;
  const DType math = math_of(op, tensors);
  const AttentionRate* rate =
      find_rate(profile.attention, mla ? AttentionLayout::mla : AttentionLayout::gqa,
                math_class(math), backward);
  if (rate == nullptr || math == DType::fp32) return std::nullopt;
  const Tensor& output = tensors[(backward ? op.in.front() : op.out.front()).index()];
  const double rows = static_cast<double>(output.rows(binding));
  const double heads = static_cast<double>(output.columns(binding)) / dv;
  const double per_score = backward ? 3 * dqk + 2 * dv : dqk + dv;
  if (rows <= 0 || heads <= 0) return std::nullopt;
  // Keys a query meets, twice their mean: the sequence length of plain causal attention, less under
  // a window.
  const double seq = work.flops.base() / (rows * heads * per_score);
  const AttentionCall call{.rows = rows,
                           .heads = heads,
                           .value_head = dv,
                           .seq = seq,
                           .flops = work.flops,
                           .bytes = work.bytes,
                           .backward = backward};
  const GpuSpec& gpu = view.cluster->gpu;
  KernelPrice price{attention_time(*rate, profile.kernel(work.kernel), gpu, call,
                                   clock_of(profile.sustained_clock, work.kernel, math)),
                    rate->source};
  if (price.source == SourceClass::measured &&
      !(rate_at(*rate, seq).on_point && occupancy_of(call, gpu.sms) == 1)) {
    price.source = SourceClass::interpolated;
  }
  return price;
}

}  // namespace pleat
