// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which storage a tensor of the running step has. Activations live from birth to death; weights and
// gradients are views into the buckets, which are tensors of the step like any other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/runtime/arena.hpp"
#include "core/program/program.hpp"
#include "core/program/step_walk.hpp"
#include "kernels/device.hpp"

namespace pleat {

enum class BucketPart { weights, gradients, buffers };

// Whether tensors whose size only routing decides have segments of their own: a graph is repeated
// where the tensors of its operations lie as in the step before. Else all share room.
[[nodiscard]] inline bool keeps_routed_apart(const Plan& plan) {
  return plan.cuda_graph != CudaGraph::none;
}

class TensorStore {
 public:
  // Where a tensor's storage comes from, if not from the device's memory (null).
  using MemoryOf = std::function<Memory*(const Tensor&)>;
  // The device, and the other memory, must outlive the store.
  TensorStore(const StageProgram& stage, Device& device, bool poison, bool routed_apart,
              MemoryOf memory_of = {});

  // Every failure is an ExecutionError that names the tensor, and the operation where there is one.
  void birth(const InstanceKey&, const Tensor&, const Binding&);
  void death(const InstanceKey&, const Tensor&);
  // `reads`: the operation needs its contents, which some operation must have written; otherwise it
  // is about to write them.
  [[nodiscard]] View activation(const InstanceKey&, const Tensor&, const Binding&, bool reads,
                                const std::string& op);

  // Between a layer's passes, where a paged stash has room for other numbers of rows. Throws
  // ConfigError when there are more of them than it keeps.
  void stash(const InstanceKey&, const Tensor&, const Binding&);
  void unstash(const InstanceKey&, const Tensor&, const Binding&);

  // Tensors of StageProgram::state.
  void birth_state(TensorId);
  void death_state(TensorId);
  [[nodiscard]] View state(TensorId, bool reads, const std::string& op);
  void forget_contents(TensorId id) { state_[id.index()].written = false; }  // of the last step

  // Tests: what a step does not write of it, shows.
  void poison_state(TensorId id) { arena_.poison(state_[id.index()].block); }

  // A weight, buffer or gradient of a layer: its part of the bucket's storage.
  [[nodiscard]] View parameter(const WeightSlot&, const Tensor&, BucketPart, const std::string& op,
                               bool reads = true);

  // Copies of activations in host memory, by the layer that sent them there.
  void send_to_host(const InstanceKey&, View, const std::string& op);
  void bring_back(const InstanceKey&, View to, const std::string& op);

  // Throws if an activation is still alive, here or in host memory: the program never frees it.
  void require_no_activations() const;
  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] const Arena& host() const { return host_; }

 private:
  struct StateStorage {
    bool born = false, written = false;
    Block block;
  };
  struct Activation {
    std::string name;
    bool written = false;
    Block block;
    BlockScales scales = {};  // of a quantised tensor, beside its block
  };
  struct Away {
    Block block;
    BlockScales scales = {};
  };

  void move(const InstanceKey&, const Tensor&, const Binding& rows, std::int64_t bytes);
  [[nodiscard]] Block allocate(const Tensor&, std::int64_t bytes);  // on the device

  const StageProgram& stage_;
  Device& device_;
  MemoryOf memory_of_;
  bool routed_apart_;
  Arena arena_, host_;  // before the blocks: destroyed after them
  std::vector<StateStorage> state_;
  std::map<InstanceKey, Activation> activations_;
  std::map<InstanceKey, Away> away_;
};

}  // namespace pleat
