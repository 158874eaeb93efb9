// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the layers of a plan add to their chunk at least.
#pragma once

#include <vector>

#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"
#include "simulator/layer_library.hpp"

namespace pleat {

// What a bound of layers holds for.
enum class BoundScope {
  mesh,    // every setting and memory choice: arithmetic and memory-bound work alone
  family,  // every way to overlap expert exchanges: what stays in order whatever happens to them
  setting  // the plan as it is
};

// One layer of one microbatch. Times by Pass.
struct LayerBound {
  Seconds time[2];
  Seconds exchanges[2];    // of experts, which may run beside all the rest; in a family
  // What a pass takes more where it is not paired, nor its backward pass split.
  Seconds alone[2];
  Seconds half[2];         // of a backward pass that is split
  Seconds matrix;          // matrix products and attention, both passes; of a setting
  Seconds send;            // to a neighbouring stage
  std::int64_t saved = 0;  // bytes the forward pass leaves behind
  LayerWeights weights;
};

// The layers of a model that bounds count.
class CountedLayers {
 public:
  explicit CountedLayers(const ModelSpec&);
  // With the decoder layers of a composition, which need not all be treated alike.
  CountedLayers(const ModelSpec&, const std::vector<StageComposition>&);
  [[nodiscard]] const std::vector<LayerVariant>& variants() const { return variants_; }
  [[nodiscard]] int index_of(const LayerVariant&) const;  // -1: not counted
  // The decoder layer that occurs most often.
  [[nodiscard]] std::size_t most_frequent() const { return most_frequent_; }
  // Whose bound a layer takes: of multi-token prediction the decoder layer's in it, else its own.
  [[nodiscard]] std::size_t stand_in(std::size_t layer) const;

 private:
  void add(const LayerVariant&);
  void finish(const ModelSpec&);  // after the decoder layers

  std::vector<LayerVariant> variants_;
  std::vector<std::int64_t> occur_;  // of each
  std::size_t most_frequent_ = 0, mtp_inner_ = 0;
};

// How the passes of a plan may run.
struct PassKinds {
  bool paired = false;  // expert-parallel overlap: no pair takes less than what the two add
  bool split = false;   // backward passes whole or in halves: in no less than either
};

// By CountedLayers::variants. `clock` names the profile (only of a setting, else the burst clock).
[[nodiscard]] std::vector<LayerBound> bound_layers(const CountedLayers&, LayerLibrary&,
                                                   const PassKinds&, BoundScope, int clock,
                                                   const Profile&);

// Host time of a layer of one microbatch, both passes, which no setting but the graph mode changes: a
// third of it forward.
[[nodiscard]] Seconds host_time(const LayerVariant&, CudaGraph, const Profile&);

}  // namespace pleat
