// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Walks a stage's step in execution order. Executor, memory model and traces all use this walk, so
// they agree about which tensor instance an operation means and when it is born and dies.
#pragma once

#include <vector>

#include "core/program/program.hpp"

namespace pleat {

// A tensor instance: for boundary tensors the producing layer's (`position`, `tensor`).
struct InstanceKey {
  int microbatch = 0, chunk = 0, position = 0;  // position in the chunk
  TensorId tensor;
  auto operator<=>(const InstanceKey&) const = default;
};

// One operation in its place.
struct OpSite {
  const Op* op = nullptr;
  const LayerProgram* program = nullptr;
  const LayerInstance* instance = nullptr;
  MicroBatch microbatch;
  ChunkId chunk;
  int position = 0;       // of the layer in the chunk
  Pass pass = Pass::forward;
  int index = 0;          // of the op in its pass
  bool first = false;     // of a backward pass: no microbatch was here before in this step
};

// Whether the operation adds to what out[0] holds.
[[nodiscard]] inline bool adds(const Op& op, const OpSite* site) {
  const bool writes = op.attr.first_writes && site != nullptr && site->first;
  return op.attr.accumulate && !writes;
}

// The decoder layer that a tensor of the operation's program belongs to.
[[nodiscard]] inline LayerIndex layer_of(const OpSite& site, const Tensor& tensor) {
  return LayerIndex{site.instance->layer.value + tensor.of_layer};
}

// Births and deaths around each op of a layer, precomputed from its lifetimes.
struct LayerEvents {
  // [pass][op] -> tensors
  std::vector<std::vector<TensorId>> births[2], deaths[2];
  std::vector<TensorId> kept;  // between the passes, of those that only routing decides the size of
};
[[nodiscard]] LayerEvents layer_events(const LayerProgram&);

// The ops of a layer's pass that a slot runs.
struct OpRange {
  std::size_t begin = 0, end = 0;
};
[[nodiscard]] OpRange ops_of(const LayerProgram&, const Slot&);

// The instance an op's tensor operand refers to: the layer's input is the previous layer's output,
// its grad_output the next layer's grad_input.
[[nodiscard]] InstanceKey resolve(const StageProgram&, const OpSite&, TensorId);

// Calls, for every op of the pipeline slots in order: on_birth(site, key, tensor)…, on_op(site),
// on_death(site, key, tensor)…. After the last op of a layer's forward pass on_stash of what it
// keeps, before the first one of its backward pass on_unstash.
struct StepVisitor {
  virtual ~StepVisitor() = default;
  virtual void on_birth(const OpSite&, const InstanceKey&, const Tensor&) = 0;
  virtual void on_op(const OpSite&) = 0;
  virtual void on_death(const OpSite&, const InstanceKey&, const Tensor&) = 0;
  virtual void on_stash(const OpSite&, const InstanceKey&, const Tensor&) {}
  virtual void on_unstash(const OpSite&, const InstanceKey&, const Tensor&) {}
};
void walk_step(const StageProgram&, StepVisitor&);

}  // namespace pleat
