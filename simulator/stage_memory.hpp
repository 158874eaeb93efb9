// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Memory of one stage over its step: what lives for the whole step, and the highest point of the
// rest.
#pragma once

#include "core/program/program.hpp"
#include "simulator/estimate.hpp"
#include "simulator/layer_costs.hpp"
#include "simulator/layer_rows.hpp"
#include "simulator/schedule_table.hpp"

namespace pleat {

// State tensors that exist for the whole step, by class, in bytes.
struct StateBytes {
  std::int64_t weights = 0, gradients = 0, optimizer = 0, other = 0;
  std::int64_t host = 0;  // in host memory, not in total()
  [[nodiscard]] std::int64_t total() const { return weights + gradients + optimizer + other; }
};
[[nodiscard]] StateBytes state_bytes(const StageProgram&);

// The epilogue's trajectory above the state: step scratch, and state that is there only for its
// step.
struct EpilogueMemory : MemoryDelta {
  std::int64_t optimizer = 0;  // of `peak`: optimizer state that came from host memory
};
[[nodiscard]] EpilogueMemory epilogue_memory(const StageProgram&);

// The largest sum, at any slot, over the chunks between their forward and their backward pass.
// `split` as in SlotWork (the pass ends with the weight gradients); empty `by_chunk`: 0.
[[nodiscard]] std::int64_t most_in_flight(const StageWork&,
                                          const std::vector<std::int64_t>& by_chunk,
                                          bool split = false);

// Activations of each chunk that are copied to host memory and back; empty where none are.
[[nodiscard]] std::vector<std::int64_t> offloaded_activations(const StageProgram&,
                                                              const LayerRows&);

// Host memory of the node whose ranks use most of it: state kept there and activations; pinned,
// nothing else of the host's is counted. `ranks`: of the job, the pipeline outermost.
[[nodiscard]] std::int64_t fullest_node(const std::vector<StageMemory>&, int ranks,
                                        int gpus_per_node);

// Bytes outside the program that a runtime holds on one GPU of a stage (docs/MODEL.md section 3).
struct RuntimeBytes {
  std::int64_t allocated = 0;  // tensors: workspaces, buffers kept for the whole run
  std::int64_t outside = 0;    // CUDA context, NCCL, registered exchange buffers: rules of thumb
};
// What stages are compiled from.
struct CompiledFrom {
  const ModelSpec& model;
  const WorkloadSpec& workload;
  const Plan& plan;
  Runtime runtime = Runtime::pleat;
  CompiledFrom(const Program& p)  // NOLINT(google-explicit-constructor): a part of it
      : CompiledFrom(p.model, p.workload, p.plan, p.runtime) {}
  CompiledFrom(const ModelSpec& m, const WorkloadSpec& w, const Plan& p, Runtime r)
      : model(m), workload(w), plan(p), runtime(r) {}
};
// Pleat holds none.
[[nodiscard]] RuntimeBytes runtime_bytes(const CompiledFrom&, const StageProgram&);
// Of what is allocated, that of each layer: bf16 gradients of its weights that stay, of a head or
// of each shape. A stage holds one of each shape.
[[nodiscard]] std::int64_t kept_weight_gradients(const LayerProgram&);
// The rest of it at least, whatever layers the stage has.
[[nodiscard]] std::int64_t least_allocated(const CompiledFrom&, Stage);

// What graphs of parts of a layer keep for a microbatch, in bytes.
struct GraphOutputs {
  std::int64_t dense = 0, moe = 0;
};
[[nodiscard]] GraphOutputs graph_outputs(const CompiledFrom&);
// The same of a stage's layers, by chunk; empty without such graphs.
[[nodiscard]] std::vector<std::int64_t> graph_outputs(const CompiledFrom&, const StageProgram&);
// Elements of a layer's weights.
struct LayerElements {
  LayerKind kind{};
  double dense = 0, expert = 0;
};
// Of what is allocated, that of weights and gradients which are gathered to be used (FSDP), for a
// stage with these layers. 0 without.
[[nodiscard]] double fsdp_bytes(const Plan&, const std::vector<LayerElements>&);
// RuntimeBytes::outside alone, which is the same on all stages.
[[nodiscard]] std::int64_t outside_bytes(const ModelSpec&, const WorkloadSpec&, const Plan&,
                                         Runtime);

struct StageRecord;

// Replays the slots (`work`: SlotWork in the stage's order) with per-chunk trajectories: O(slots).
// Same result as peak_live_bytes when every microbatch and layer routes the capacity the costs were
// priced with.
[[nodiscard]] StageMemory stage_memory(Stage, const StageRecord&, const StageWork&);

}  // namespace pleat
