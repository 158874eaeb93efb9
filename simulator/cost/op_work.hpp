// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What an operation has to do, read off its shapes, and the time one kernel needs for it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulator/layer_costs.hpp"

namespace pleat {

// Work of one kernel on one rank.
struct OpWork {
  KernelClass kernel = KernelClass::memory_bound;
  Flops flops;
  Bytes bytes;  // read and written
};

// C[m,n] += A B: 2*m*n*k flops.
[[nodiscard]] OpWork gemm_work(const Op&, const std::vector<Tensor>&, const Binding&);
// Causal attention, forward or backward (docs/MODEL.md section 7.2).
[[nodiscard]] OpWork attention_work(const Op&, const std::vector<Tensor>&, const Binding&);
// The kernel of an operation that is bound by memory; nothing for matrix products, attention, and
// what travels between GPUs or to the host.
[[nodiscard]] std::optional<KernelClass> memory_bound_kernel(OpKind);
// Of such an operation: no flops are counted.
[[nodiscard]] OpWork memory_bound_work(const Op&, const std::vector<Tensor>&, const Binding&);

// What a conversion to a narrow type moves on top of its operands (docs/MODEL.md section 7.4): the
// pass that finds the current scale of a whole tensor, the rotation and rounding of nvfp4.
[[nodiscard]] Bytes quantize_extra(const Op&, const std::vector<Tensor>&, const Binding&,
                                   Precision);

// Bytes of every operand, read and written; an accumulated result is read as well.
[[nodiscard]] Bytes operand_bytes(const Op&, const std::vector<Tensor>&, const Binding&);

// fixed + max((flops + half_work) / (peak * max_efficiency), bytes / (bandwidth * efficiency)):
// the formula of EfficiencyCurve with e(flops) put in. No flops, no arithmetic term.
[[nodiscard]] Seconds kernel_time(const EfficiencyCurve&, Flops, Bytes, FlopsPerSecond peak,
                                  BytesPerSecond bandwidth);

// The law of a matrix product on `sms` processors: `groups` products of m x n x k that move `bytes`
// together, at `speed` times the law's rate. Without corrections (docs/MODEL.md section 7.1).
struct GemmShape {
  double m = 0, n = 0, k = 0;
  double groups = 1;
};
[[nodiscard]] Seconds law_time(const GemmLaw&, std::span<const GemmTile>, int sms, const GemmShape&,
                               Bytes bytes, double speed);

struct KernelPrice {
  Seconds time;
  SourceClass source = SourceClass::datasheet;
};

// One matrix product, or with several groups the products of so many experts in one kernel.
struct ProductCall {
  GemmShape shape;  // of several groups: the rows (or depth) of one, padded
  Bytes bytes;
  double speed = 1;  // of the law's rate
  bool weight_gradient = false, backward = false;
  bool narrow = false;   // narrower than bf16
  double launches = 1;   // share of the experts' own that is paid
};
// Rows of one expert as a kernel takes them.
[[nodiscard]] double padded_rows(double rows, const GroupedLaw&);
// By the law and, dense, its corrections.
[[nodiscard]] KernelPrice product_price(const GemmLaws&, const GemmLaw&, int sms,
                                        const ProductCall&);

// Causal attention: rows of queries in all sequences, heads on this rank.
struct AttentionCall {
  double rows = 0, heads = 0, value_head = 0;
  double seq = 0;  // twice the mean keys of a query
  Flops flops;
  Bytes bytes;
  bool backward = false;
};
// Of a measured rate: less with too few blocks of queries for the processors (0: not said), and
// with small heads.
[[nodiscard]] double attention_share(const AttentionCall&, int sms);
// `curve`: its fixed time and share of the memory's bandwidth.
[[nodiscard]] Seconds attention_time(const AttentionRate&, const EfficiencyCurve& curve,
                                     const GpuSpec&, const AttentionCall&, double clock);

// By the profile's law; nothing if it has none or the GPU does not say its number of processors.
[[nodiscard]] std::optional<KernelPrice> gemm_price(const Op&, const OpWork&, const Binding&,
                                                    const ClusterView&, const Profile&);
// By the profile's measured rates; nothing if it has none.
[[nodiscard]] std::optional<KernelPrice> attention_price(const Op&, const OpWork&,
                                                         const std::vector<Tensor>&, const Binding&,
                                                         const ClusterView&, const Profile&);
// Sustained over burst clock while computing in `math`.
[[nodiscard]] double clock_of(const SustainedClock&, KernelClass, DType math);

// The type the arithmetic units compute in: said for matrix products; attention follows its
// operands unless it says otherwise.
[[nodiscard]] DType math_of(const Op&, const std::vector<Tensor>&);

// Expert tokens exchanged by a deduplicating kernel: `payload` bytes of all k copies among `ranks`
// in `nodes` domains; nothing if the profile has no rate of the kernel there.
struct DispatchWork {
  Bytes payload;
  Bytes row;  // of one token
  int ranks = 1, nodes = 1;
  double rank_copies = 1, node_copies = 1;  // distinct destinations over k
  bool combine = false;
  int sms = 0;  // that the kernel takes
};
// The number of SMs nearest to `sms` that the kernel was measured with on a tier; 0: with none.
[[nodiscard]] int nearest_sms(const Profile&, DispatchKernel, int tier, int sms);
[[nodiscard]] std::optional<KernelPrice> dispatch_price(const DispatchWork&, DispatchKernel,
                                                        const Profile&);

// Peak of the arithmetic a GPU would use for `math`: its own, else bf16's, else fp32's.
[[nodiscard]] FlopsPerSecond usable_peak(const GpuSpec&, DType math);

// How much slower an op runs because the job's ranks share cores; 1 on GPUs. `contention`: of its
// kernel; 0: the profile's sharing_penalty where ranks outnumber the cores.
[[nodiscard]] double sharing_slowdown(const ClusterView&, const Profile&, double contention = 0);

// Ranks that are threads of a CPU: an op runs when the one before it has ended, transfers are
// copies.
[[nodiscard]] inline bool on_cpu(const ClusterView& view) { return view.cluster->shared_cores > 0; }

// Where arithmetic is fp32 alone, kernels widen their bf16 and narrow operands for the time of a
// call and round their results: `work` then moves the wide copies, and this is the time to make
// them.
[[nodiscard]] Seconds convert_operands(const Op&, const std::vector<Tensor>&, const Binding&,
                                       const ClusterView&, const Profile&, OpWork& work);

[[nodiscard]] OpCost collective_cost(const Op&, const std::vector<Tensor>&, const Binding&,
                                     const ClusterView&, const Profile&);

// Expected number of distinct units (ranks or nodes) among `units` that one token's top_k of
// `experts` lie on, uniform routing: U (1 - C(E - E/U, k) / C(E, k)).
[[nodiscard]] double distinct_units(int units, std::int64_t experts, std::int64_t top_k);
// The same under the group-limited routing that the op's attributes say.
[[nodiscard]] double distinct_units(int units, const OpAttributes&);

// Muon's orthogonalisation: five iterations of X X^T, its square and a product with X on each of
// the op's matrices, one after the other.
[[nodiscard]] OpCost newton_schulz_cost(const Op&, const ClusterView&, const Profile&);

// rms_norm_quantize, swiglu_quantize: by what their kernels read and write (docs/MODEL.md section
// 7.4).
[[nodiscard]] OpCost fused_quantize_cost(const Op&, const std::vector<Tensor>&, const Binding&,
                                         const ClusterView&, const Profile&);

[[nodiscard]] CostClass class_of(const Op&);

}  // namespace pleat
