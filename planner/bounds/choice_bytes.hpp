// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What memory choices keep at least of a chunk's activations, and what they cost at least, from its
// layers without any saving. All that a choice drops is taken off, and of what it must keep in its
// place that is added which no choice makes again; to backward passes the operations are added that
// it runs again.
#pragma once

#include <limits>
#include <vector>

#include "planner/bounds/choice_ways.hpp"
#include "planner/bounds/layer_bounds.hpp"
#include "simulator/layer_savings.hpp"

namespace pleat {

// What a chunk's layers can save at most, and how much longer its backward pass takes at least.
struct ChunkSavings {
  double bytes = 0;
  Seconds longer;
};

// A layer of a chunk, and how often the chunk has it.
struct CountedSavings {
  std::size_t layer;
  const LayerSavings& savings;
  const LayerBound& bound;
  Seconds waits;  // of the backward pass, which recompute may fill
  int count;
  bool predicts;  // several tokens: runs again wherever any whole layer does
};

// What the kinds of chunks save and cost.
struct ChunkTables {
  ChunkTables(const std::vector<LayerCounts>& kinds, const CountedLayers&,
              const std::vector<LayerBound>&,
              const std::vector<LayerSavings>&, const ChoiceWays&);

  std::size_t numbered;       // layers that have a number
  std::vector<double> saved;  // bytes without recompute and offload, by kind
  std::vector<std::vector<CountedSavings>> layers;  // of a kind
  std::vector<ChunkSavings> recomputed;  // [way to recompute][kind]; bytes of whole layers alone

  [[nodiscard]] std::size_t kinds() const { return saved.size(); }
  [[nodiscard]] Seconds longer(std::size_t way, std::size_t kind) const {
    return recomputed[way * kinds() + kind].longer;
  }
};

// What one choice keeps at least in the kinds of chunks, and how long its copies to the host and
// back take at least. Cheap where the way to recompute is that of the choice before.
class ChoiceBytes {
 public:
  // The references must outlive it.
  ChoiceBytes(const ChunkTables& chunks, const ChoiceWays& ways);

  void set(const ChoiceWays::Choice&);
  // Of the choice that was set; they stay until they are asked for again.
  [[nodiscard]] const std::vector<double>& kept();     // bytes, by kind
  [[nodiscard]] const std::vector<Seconds>& copies();  // of a microbatch's passes, by kind

 private:
  // Saved tensors that the same modules send away, of those that recompute does not drop.
  struct Sendable {
    std::uint32_t offload;  // a bit for each Offload
    double bytes = 0;
  };
  struct Layer {
    const LayerSavings* savings = nullptr;  // null: no chunk has it
    double dropped = 0;  // bytes at most that recompute drops, less what is kept in their place
    double sent = 0;     // bytes
    std::vector<Sendable> sendable;  // different ones
  };

  struct Counted {
    std::size_t layer;
    double count;
  };
  // Of one kind of chunk.
  struct Chunk {
    std::size_t end;  // of its layers in counted_
    double whole;     // LayerSavings::whole at most
  };

  static void drop(Layer&, std::uint32_t parts);

  const ChunkTables& chunks_;
  const ChoiceWays& ways_;
  std::size_t recompute_ = std::numeric_limits<std::size_t>::max();
  double sent_layers_ = 0;  // whole ones
  std::vector<Layer> layers_;
  std::vector<Counted> counted_;  // layers of all kinds, kind by kind
  std::vector<Chunk> of_kind_;
  std::vector<double> kept_;
  std::vector<Seconds> copies_;
};

}  // namespace pleat
