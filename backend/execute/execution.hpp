// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the operations of one rank work with: everything that an executor of an operation may touch,
// and nothing of how the program is walked (executor.hpp). The interpreter makes it once for a run.
#pragma once

#include <memory>

#include "backend/data/batches.hpp"
#include "backend/execute/bucket_shards.hpp"
#include "backend/execute/delayed_scaling.hpp"
#include "backend/execute/device_load.hpp"
#include "backend/execute/device_scratch.hpp"
#include "backend/execute/narrow_weights.hpp"
#include "backend/execute/placed_experts.hpp"
#include "backend/execute/routed_rows.hpp"
#include "backend/execute/step_record.hpp"
#include "backend/rank_context.hpp"
#include "backend/runtime/tensor_store.hpp"
#include "backend/step_windows.hpp"
#include "backend/trainer.hpp"
#include "kernels/device.hpp"

namespace pleat::execute {

struct Execution {
  // The arguments must outlive it.
  Execution(const Program&, const TrainConfig&, const RankContext&, const Batches&, Device&);

  // What is computed, and where this rank is in it.
  const Program& program;
  const StageProgram& stage;
  const TrainConfig& config;
  const RankContext& ranks;  // this rank's coordinates and communicators
  const Batches* batches;    // of training, or of an evaluation while it runs

  // What computes.
  Device& device;
  KernelSet& kernels;                                  // the device's
  const std::unique_ptr<KernelSet> kernels_beside_it;  // the host's; none where it is the device
  KernelSet& host_kernels;                             // the host's in any case

  // Where tensors lie.
  StepWindows windows;
  TensorStore store;
  DeviceScratch scratch;
  DeviceLoad device_load;
  PlacedExperts placed;  // tables of where experts are

  // What the host knows of them.
  RoutedRows rows;            // counts that routing decides
  const BucketShards shards;  // which elements of a bucket are this rank's
  NarrowWeights narrow;       // narrow copies of weights
  DelayedScaling scaling;     // which tensors have scales of earlier steps
  StepRecord step;            // number, learning rate, norm, … of the running step

  // The CPU's kernels for what it computes, wherever the rank's other kernels run.
  [[nodiscard]] KernelSet& kernels_of(const Op& op) { return op.on_host ? host_kernels : kernels; }
  // Those that reach the memory.
  [[nodiscard]] KernelSet& kernels_at(View v) {
    return device.hidden(v.data) ? kernels : host_kernels;
  }
  // Converts the type; either may lie in host memory.
  void copy_between(View from, View to);
  [[nodiscard]] const BucketState& bucket(Bucket which) const {
    return stage.buckets[static_cast<std::size_t>(which)];
  }
};

}  // namespace pleat::execute
