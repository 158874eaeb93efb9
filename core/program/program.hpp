// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One training step of every stage: what the simulator prices and the backend executes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/expert_slots.hpp"
#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"
#include "core/program/pipeline_order.hpp"
#include "core/program/shared_layer.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Where an instance's weight lies in its bucket. Buffers come behind the padded weights, in storage
// of their own (BucketState::buffers).
struct WeightSlot {
  Bucket bucket = Bucket::dense;
  std::int64_t offset = 0;  // elements
  // first of its elements among those that narrow products read; -1: none
  std::int64_t narrow = -1;
};

struct LayerInstance {
  int program = 0;       // index into StageProgram::layers
  LayerIndex layer;      // decoder layer 0 … L-1; -1 embedding, L head, L+1 MTP, L+2 recv, L+3 send
  std::vector<WeightSlot> slots;  // parallel to LayerProgram::weights; Megatron's dialect has none
  // Of each of its layers (Tensor::of_layer), where the plan places experts by load; else none.
  // Only `compile` says so: what is priced does not need to know.
  std::vector<ExpertSlots> experts = {};
};

struct ChunkProgram {
  std::vector<LayerInstance> instances;  // in forward order
};

// A lifetime in the step's epilogue, by op index; begin -1: exists for the whole step.
struct StepLifetime {
  TensorId tensor;
  int begin = -1, end = -1;
  bool operator==(const StepLifetime&) const = default;
};

// The weights of one layer in a bucket that is sharded layer by layer, padded to whole shards.
struct BucketUnit {
  std::int64_t begin = 0, elements = 0;
  std::int64_t replicated_elements = 0;  // its first elements: also summed over tp
};

// A matrix that Muon steps as a whole: this rank's part of it, elements [first, …) of its bucket.
struct MatrixPart {
  std::int64_t first = 0, rows = 0, columns = 0;
  Cut cut;
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

// A parameter, or this rank's part of it: elements of its bucket.
struct ParameterRange {
  std::int64_t first = 0, elements = 0;
};

// A part of a shard's state that stays between steps in the same place.
struct StateSegment {
  std::int64_t first = 0, elements = 0;  // of the shard
  TensorId main_params, exp_avg, exp_avg_sq;
  TensorId exp_avg_scale, exp_avg_sq_scale;  // of moments in types with scales (scaled_moment)
  bool on_host = false;      // the host steps it: main_params are there in every case
  TensorId host_gradients;   // then
};

// Bucket storage: tensors of StageProgram::state.
struct BucketState {
  std::int64_t elements = 0;         // parameters, without padding
  // Expert biases, after them what they are updated by, after them amax of delayed scaling.
  std::int64_t buffer_elements = 0;
  std::int64_t bias_elements = 0;    // of them: the biases
  std::int64_t amax_elements = 0;    // of one step (core/program/amax_buffers.hpp)
  std::int64_t shard_elements = 0;  // optimizer shard of this rank, padded: ceil(elements / shards)
  int shards = 1;
  std::int64_t narrow_elements = 0;  // read by narrow products
  // Of the shard: state and step are the host's; state comes from host memory for the step.
  std::int64_t host_elements = 0, reloaded_elements = 0;
  std::int64_t replicated_elements = 0;  // first elements of the bucket: also summed over tp
  // Of `gradients`, in order: what a step clears first, because operations add to it or nothing
  // comes there. The first microbatch writes the rest. Without layers (stage_of_buckets): none.
  std::vector<ParameterRange> cleared;
  // Sharded layer by layer (ZeRO-2, ZeRO-3): each rank's shard is its shares of all units. Else
  // empty: the bucket is divided as a whole.
  std::vector<BucketUnit> units;
  std::vector<Copies> copies;        // elements that several ranks of tp hold alike, in order
  // A table that another stage holds too, whose moments have scales: it, shards and what of them is
  // on the host begin with a block of scales, so that both stages have the same blocks.
  std::optional<ParameterRange> twin_table;
  TensorId weights, gradients, main_params, exp_avg, exp_avg_sq;
  std::vector<StateSegment> segments;  // of the state, in order
  TensorId workspace;                // of Muon's iterations
  std::vector<ParameterRange>
      parameters;  // in order, of a bucket that LAMB steps; pleat runtime only
  std::vector<MatrixPart>
      matrices;  // of a bucket that Muon steps, in order; the pleat runtime only
  TensorId buffers;                  // [buffer_elements] f32, where there are any
  // [2 * narrow_elements] where narrow products read copies of weights kept in another type:
  // row-wise ones of all those weights, then column-wise ones.
  std::optional<TensorId> narrow_copies;
  // Weights kept narrow, in the pleat runtime: those that narrow products read become codes of this
  // type at the start of a step, a row-wise and a column-wise copy in the room of the bf16 ones,
  // which the optimizer's cast and the gather bring back.
  std::optional<DType> narrow_in_place;
  bool has_main_params = false;      // else the weights are the fp32 master
  bool has_second_moment = true;
};

// A copy of the embedding table that other stages have too: the first one, that of a prediction
// block, that of a tied head.
struct SharedTable {
  WeightSlot slot;  // where it lies here
  std::int64_t elements = 0;
  bool counted = true;        // its gradient counts here for the norm
  std::vector<Stage> stages;  // that add up their gradients, in order, this one among them
};

struct StageProgram {
  Stage stage;
  std::vector<SharedLayer> layers;    // distinct ones
  std::vector<ChunkProgram> chunks;   // vpp of them
  std::vector<Slot> order;
  bool delay_wgrad = false;           // in pairs the attention's weight gradients come last
  // Step level: tensors, what runs before the first slot and after the last one.
  std::vector<Tensor> state;
  std::vector<BucketState> buckets;   // indexed by Bucket; with Muon two more, of their matrices
  TensorId loss;                      // f32, this stage's summed losses (core/program/losses.hpp)
  std::optional<SharedTable> table;
  std::vector<Op> prologue, epilogue; // operate on `state`
  std::vector<StepLifetime> step_lives;

  [[nodiscard]] const LayerProgram& program(const LayerInstance& i) const {
    return layers[static_cast<std::size_t>(i.program)];
  }
};

struct Program {
  ModelSpec model;
  WorkloadSpec workload;
  Plan plan;
  Runtime runtime = Runtime::pleat;
  std::vector<StageProgram> stages;
};

// Compiles a plan. The plan must satisfy every named constraint (plan/constraints.hpp); one that
// does not is a broken invariant here.
[[nodiscard]] Program compile(const ModelSpec&, const WorkloadSpec&, const Plan&, Runtime);
[[nodiscard]] StageProgram compile_stage(const ModelSpec&, const WorkloadSpec&, const Plan&,
                                         Runtime, Stage);

// Routed tokens of one (microbatch, decoder layer): all that is known of them, or R alone.
struct RoutedRows : Binding {
  RoutedRows(const Binding& known) : Binding(known) {}
  RoutedRows(std::int64_t received) { routed = received; }
};
using RoutedCount = std::function<RoutedRows(MicroBatch, LayerIndex)>;

// Expected R under balanced routing: as many rows arrive as leave, T * k, times `imbalance`.
[[nodiscard]] std::int64_t balanced_routed_tokens(const ModelSpec&, const WorkloadSpec&,
                                                  const Plan&, double imbalance = 1.0);

// Human-readable form, as `pleat program` prints it.
[[nodiscard]] std::string print_layer(const LayerProgram&, const Binding&);
[[nodiscard]] std::string print_stage(const StageProgram&, const Binding&);

}  // namespace pleat
