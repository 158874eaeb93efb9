// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The few constants of a whole run that no kernel table shows: clocks under load, overlap, host
// time (docs/MODEL.md sections 5, 7.1, 7.5). Fitted to published runs; a software era may override
// them.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>

#include "core/quantity.hpp"

namespace pleat {

// kappa: the rate under sustained load, as a fraction of the rate measured in a short burst. A chip
// that is busier clocks lower; duty_clock derives such a factor from the share of tensor-core time.
struct SustainedClock {
  double gemm_bf16 = 1.0;  // and fp32
  double gemm_fp8 = 1.0;   // and mxfp8
  double gemm_fp4 = 1.0;
  double attention = 1.0;
  double duty_slope = 0.0;  // a; 0: the clock does not depend on the duty
  double duty_free = 0.2;   // d0: no loss up to here
  double floor = 0.68;
  bool operator==(const SustainedClock&) const = default;
};

// clip(1 - a (duty - d0), floor, 1), duty = matrix-product time over step time.
[[nodiscard]] inline double duty_clock(const SustainedClock& c, double duty) {
  return std::clamp(1.0 - c.duty_slope * (duty - c.duty_free), c.floor, 1.0);
}

// One value a graph mode.
struct ByGraph {
  Seconds none, router, partial, full_iteration;
  bool operator==(const ByGraph&) const = default;
  // No published run captures attention alone: it is taken to save what `partial` saves beside
  // `router`.
  [[nodiscard]] Seconds attention() const {
    return std::clamp(none - (router - partial), std::min(none, partial), std::max(none, partial));
  }
  // In the order of CudaGraph (core/plan/plan.hpp).
  [[nodiscard]] Seconds at(std::size_t mode) const {
    const Seconds parts[] = {none, attention(), router, partial};
    return mode < std::size(parts) ? parts[mode] : full_iteration;
  }
};

// Relative errors of a predicted step beside the profile's relative_band, by what calls for them.
struct BandTerms {
  double era = 0;            // of the release
  double experts = 0;        // a model with experts
  double nccl_exchange = 0;  // whose tokens NCCL exchanges
  double sharded = 0;        // weights or gradients sharded by layer (zero2, zero3)
  double hybrid = 0;         // recurrences, sparse or compressed attention
  double doubling = 0;       // each time that the job doubles the GPUs of the largest run
  int largest_run = 0;       // GPUs of the largest run that constants were fitted to; 0: unknown
  bool operator==(const BandTerms&) const = default;
};

struct RunConstants {
  SustainedClock sustained_clock;
  // eta: share of the ideal saving of a pair of passes that is realised, with dispatchers that hold
  // many SMs (deepep, hybridep) and with NCCL's exchange.
  double overlap_efficiency = 1.0, overlap_efficiency_nccl = 1.0;
  double tp_overlap_exposed = 0.4;        // of a tensor-parallel exchange in pieces beside its GEMM
  // Compute rate lost while gradients or weights travel between data-parallel ranks beside it.
  double dp_beside_compute = 0;
  // The same in a pipeline: its stages exchange at different times, so their delays add up.
  double dp_beside_pipeline = 0;
  // Of the pipeline's time, what the slowest of n hosts takes longer than the slowest of
  // slowest_host_from, a factor of e in n. What so many wait is in the constants that were fitted
  // to runs of that size.
  double slowest_host = 0;
  int slowest_host_from = 1;
  // Rate of recurrences, indexers and attention over compressed keys, over that of the attention
  // curves.
  double token_mixing_rate = 1;
  // Rate of attention over selected keys, over the matrix peak. Forward: FlashMLA's sparse prefill,
  // 640 TFLOP/s on H800 and 1450 on B200 (deepseek-ai/FlashMLA). Backward: 684 on B200 with 2,048
  // keys (NVIDIA/cudnn-frontend pull request 318); Hopper is taken to reach the same share.
  double selected_keys_forward = 0.64, selected_keys_backward = 0.30;
  BandTerms band_terms;
  // Host time of every weight tensor that a step gathers or reduces layer by layer (zero2, zero3),
  // an event.
  Seconds host_per_sharded_weight;
  // Of expert exchanges, over the rate of the kernel alone: by DeepEP and HybridEP, by NCCL.
  double exchange_rate = 1.0, exchange_rate_nccl = 1.0;
  // Work of DeepEP and HybridEP per row and copy beside its bytes, in bytes. Their rates were
  // measured with rows of 14336 B.
  Bytes exchange_row_overhead;
  double comm_slowdown = 1.15;            // g: of communication beside compute
  double comm_slowdown_of_compute = 1.0;  // times (SMs held / SMs) = phi, the compute rate lost
  int nccl_sms = 16, deepep_sms = 20, hybridep_sms = 32;  // held, where the plan does not say
  // Of the time an expert's own launch takes in a grouped product; 0: one fused kernel for all.
  double grouped_launches = 1.0;
  Seconds host_per_op;                    // per launched op; the step is host-bound below it
  // Of a chain that is not fused, each kernel but its first: on top, as host_per_moe_layer is.
  Seconds host_per_launch;
  // On top of the kernels, per layer and microbatch, forward and backward together.
  ByGraph host_per_moe_layer, host_per_dense_layer;
  // Per layer and microbatch, forward and backward together: what the host does to launch an eager
  // layer beyond the program's own operations. Hidden where the GPU works longer.
  Seconds host_busy_per_layer;
  Seconds tp_skew;  // ranks of a tensor-parallel group wait for one another, per exchange of an
                    // eager layer
  Seconds host_per_head;                  // on top of the kernels of head and loss, per microbatch
  Seconds step_overhead;                  // once per step: data, logging
  // How much longer all host times are where ranks are not bound to the cores next to their GPU
  // (WorkloadSpec::unbound_ranks); 1: not known.
  double unbound_host = 1;
  bool operator==(const RunConstants&) const = default;
};

// All times of the host that a step waits for, `factor` times as long.
void slow_host(RunConstants&, double factor);

// What a software release changed: all constants, its overrides put in.
struct Era {
  std::string name;  // "nemo-25.11"
  RunConstants run;
  bool operator==(const Era&) const = default;
};

}  // namespace pleat
