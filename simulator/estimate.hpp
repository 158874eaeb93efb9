// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The prediction for one plan: step time whose parts add up, memory by stage, throughput, a band.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/json/json_value.hpp"
#include "core/program/program.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/profile.hpp"
#include "core/trace/trace.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

struct StageMemory {
  Stage stage;
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // bytes for the whole step
  std::int64_t activations = 0;   // live, and transients, at the peak; loaded state is optimizer's
  std::int64_t runtime = 0;       // buffers outside the program (profile, dialect)
  std::int64_t peak = 0;          // sum of the above at the highest moment
  std::int64_t outside = 0;       // of `runtime`: what no tensor allocator sees (context, NCCL)
  std::int64_t host = 0;          // in host memory, at the most
  [[nodiscard]] std::int64_t allocated() const { return peak - outside; }  // torch's max_allocated
  // Its max_reserved with expandable segments: 1.026 to 1.066 times as much in 16 runs of SimuMax
  // on B200 (up to 1.09 in long sequences); the middle. A statement beside the peak: `fits` leaves
  // it out.
  static constexpr double kReservedOverAllocated = 1.045;
  [[nodiscard]] std::int64_t reserved() const {
    return static_cast<std::int64_t>(kReservedOverAllocated * static_cast<double>(allocated()));
  }
};

struct StageTime {
  Stage stage;
  Seconds busy, bubble;  // add up to the step
};

struct StepEstimate {
  Seconds step;
  Seconds low, high;             // prediction band
  double relative_band = 0;      // its half-width over the step
  CostVector parts{};            // of the critical stage; sums to `step`
  Seconds matrix;                // tensor-core time of the stage that has most of it
  std::vector<StageMemory> memory;
  std::vector<StageTime> stages;
  double tokens_per_second = 0;          // whole job
  double tokens_per_second_per_gpu = 0;
  FlopsPerSecond model_flops_per_gpu;
  double mfu = 0;                // against the dense bf16 peak (fp32 peak for fp32 plans)
  // Against the dense peak of what the plan's products read, where the GPU has one.
  double mfu_of_precision = 0;
  DType products = DType::bf16;
  SourceClass source = SourceClass::datasheet;  // worst source class that was used
  const StageMemory& fullest_stage() const;
  std::int64_t peak_bytes() const;            // of the fullest device
  std::int64_t peak_allocated_bytes() const;  // of its tensor allocator
  // What torch's allocator holds for those, and that with all that lies outside it.
  std::int64_t peak_reserved_bytes() const;
  std::int64_t peak_device_bytes() const;
  std::int64_t host_bytes = 0;                // of the fullest node
  bool fits = false;             // within the memory of the GPU, and of the node where it is known
};

// Whether the two shares of a peak differ.
[[nodiscard]] inline bool has_narrow_mfu(const StepEstimate& e) {
  return e.mfu_of_precision != e.mfu;
}

// Prices every layer kind, evaluates the pipeline, adds the step's prologue and epilogue.
// Throws nothing; an infeasible plan is an estimate with fits == false.
[[nodiscard]] StepEstimate estimate(const Program&, const ClusterSpec&, const Profile&);

// The profile at the clocks this program leaves the device: the busier its matrix units, the lower
// (duty_clock, core/spec/run_constants.hpp). What `estimate` prices with.
[[nodiscard]] Profile warm_profile(const Program&, const ClusterSpec&, const Profile&);

// The same drawn: every slot and the memory of every stage, the operations of the first so many
// microbatches.
[[nodiscard]] Trace predicted_trace(const Program&, const ClusterSpec&, const Profile&,
                                    int max_microbatches = 32);

// Exact live-byte high-water mark of one stage's step when layer l of microbatch m routes
// `routed(m, l)` tokens to this rank: walks the same events the executor walks.
[[nodiscard]] std::int64_t peak_live_bytes(const StageProgram&, const RoutedCount& routed);
// The same of host memory: state that is kept there, activations between their copies out and back.
[[nodiscard]] std::int64_t peak_host_bytes(const StageProgram&, const RoutedCount& routed);

[[nodiscard]] JsonValue estimate_json(const StepEstimate&, const Program&, const ClusterSpec&,
                                      const Profile&);

// Words for the enumerations that reports print.

[[nodiscard]] constexpr const char* source_name(SourceClass source) {
  switch (source) {
    case SourceClass::measured: return "measured";
    case SourceClass::interpolated: return "interpolated";
    case SourceClass::fitted: return "fitted";
    case SourceClass::datasheet: return "datasheet";
  }
  return "?";
}

[[nodiscard]] constexpr const char* runtime_name(Runtime runtime) {
  switch (runtime) {
    case Runtime::pleat: return "pleat";
    case Runtime::megatron: return "megatron";
  }
  return "?";
}

}  // namespace pleat
