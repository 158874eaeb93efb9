// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What an operation has to do, read off its shapes, and the time one kernel needs for it.
#pragma once

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
// Everything bound by memory: no flops counted.
[[nodiscard]] OpWork memory_bound_work(const Op&, const std::vector<Tensor>&, const Binding&);

// Bytes of every operand, read and written; an accumulated result is read as well.
[[nodiscard]] Bytes operand_bytes(const Op&, const std::vector<Tensor>&, const Binding&);

// fixed + max((flops + half_work) / (peak * max_efficiency), bytes / (bandwidth * efficiency)):
// the formula of EfficiencyCurve with e(flops) put in. No flops, no arithmetic term.
[[nodiscard]] Seconds kernel_time(const EfficiencyCurve&, Flops, Bytes, FlopsPerSecond peak,
                                  BytesPerSecond bandwidth);

// Peak of the arithmetic a GPU would use for `math`: its own, else bf16's, else fp32's.
[[nodiscard]] FlopsPerSecond usable_peak(const GpuSpec&, DType math);

// How much slower every op runs because the job's ranks share cores; 1 on GPUs.
[[nodiscard]] double sharing_slowdown(const ClusterView&, const Profile&);

[[nodiscard]] OpCost collective_cost(const Op&, const std::vector<Tensor>&, const Binding&,
                                     const ClusterView&, const Profile&);

// Expected number of distinct units (ranks or nodes) among `units` that one token's top_k of
// `experts` lie on, uniform routing: U (1 - C(E - E/U, k) / C(E, k)).
[[nodiscard]] double distinct_units(int units, std::int64_t experts, std::int64_t top_k);

[[nodiscard]] CostClass class_of(const Op&);

}  // namespace pleat
