// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds for single layers: the least time and memory that one adds to the chunk of layers
// that it is in.
#pragma once

#include <vector>

#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"
#include "simulator/layer_library.hpp"

namespace pleat {

// For which plans the bound of a layer holds.
enum class BoundScope {
  mesh,    // for every setting and memory choice: counts arithmetic and memory-bound work alone
  family,  // for every overlap of expert exchanges: counts what no overlap can hide
  setting,  // for exactly this plan
  pairs     // the same, with more pairs of layers priced: tighter where passes run in pairs
};

// Which of a model's layers that differ there are, by their numbers, and how often each.
struct LayerCount {
  std::size_t layer;
  int count;
  bool operator==(const LayerCount&) const = default;
};
using LayerCounts = std::vector<LayerCount>;  // by layer

// One layer for one microbatch. Arrays are indexed by Pass.
struct LayerBound {
  Seconds time[2];
  // For a family: what may run beside all the rest, but one after the other: expert exchanges;
  // copies to and from host memory with the exchanges of sharded weights and gradients.
  Seconds exchanges[2], copies[2];
  // How much more a pass takes in a slot that is not paired and whose backward pass is not split.
  Seconds alone[2];
  Seconds half[2];         // input gradients and weight gradients of a split backward pass
  // Of a backward pass, and of the forward pass beside it: what recompute may fill. Not of a mesh.
  Seconds waits;
  Seconds matrix;          // matrix products and attention of both passes
  Seconds send;            // of its output to the next stage
  std::int64_t saved = 0;  // bytes of activations that the forward pass saves
  std::int64_t beside = 0;  // bytes: the highest point of a whole backward pass above its start
  LayerWeights weights;
};

// The different layers of a model, each bounded once.
class CountedLayers {
 public:
  CountedLayers(const ModelSpec&, const WorkloadSpec&);
  // For plans that treat decoder layers of a kind differently: those of the plan's stages.
  CountedLayers(const ModelSpec&, const WorkloadSpec&, const std::vector<StageComposition>&);
  [[nodiscard]] const std::vector<LayerVariant>& variants() const { return variants_; }
  [[nodiscard]] int index_of(const LayerVariant&) const;  // -1: it is not among them
  // The decoder layer that occurs most often.
  [[nodiscard]] std::size_t most_frequent() const { return most_frequent_; }
  // The decoder layers of whose pairs the time is worked out, most often first: those that occur
  // often, or with BoundScope::pairs also the next ones. Of other pairs the compute alone counts.
  [[nodiscard]] const std::vector<std::size_t>& paired(BoundScope scope) const {
    return scope == BoundScope::pairs ? paired_ : frequent_;
  }
  [[nodiscard]] bool pairs_more() const { return paired_.size() > frequent_.size(); }
  // The layer whose bound is used for this one: for multi-token prediction its decoder layer, else
  // itself.
  [[nodiscard]] std::size_t stand_in(std::size_t layer) const;

 private:
  void add(const LayerVariant&);
  void finish(const ModelSpec&, const WorkloadSpec&);  // call after all decoder layers are added

  std::vector<LayerVariant> variants_;
  std::vector<std::int64_t> occur_;  // of each
  std::size_t most_frequent_ = 0;
  std::vector<std::size_t> frequent_, paired_;
  std::vector<std::size_t> mtp_inner_;  // by depth
};

// How the passes of a plan may run.
struct PassKinds {
  // In pairs (expert-parallel overlap), which take no less than the sum of both shares.
  bool paired = false;
  bool split = false;   // backward passes whole or in halves: the bound holds for both
};

// A layer that runs in pairs where a schedule pairs passes.
[[nodiscard]] bool is_decoder(const LayerVariant&);

// For each of CountedLayers::variants. The library keeps what it compiles. `clock` is that of the
// profile.
[[nodiscard]] std::vector<LayerBound> bound_layers(const CountedLayers&, LayerLibrary&,
                                                   const PassKinds&, BoundScope, int clock,
                                                   const Profile&);

// The host's time to launch a layer for one microbatch, both passes; a third of it is the forward
// pass. It depends on no setting but the CUDA graph mode.
[[nodiscard]] Seconds host_time(const LayerVariant&, CudaGraph, const Profile&);

}  // namespace pleat
