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
};

// What the kinds of chunks save and cost.
struct ChunkTables {
  ChunkTables(const std::vector<LayerCounts>& kinds, const std::vector<LayerBound>&,
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
  ChoiceBytes(const ChunkTables& chunks, const ChoiceWays& ways)
      : kept(chunks.kinds()),
        copies(chunks.kinds()),
        chunks_(chunks),
        ways_(ways),
        left_(chunks.numbered),
        sent_(chunks.numbered) {}

  void set(const ChoiceWays::Choice&);

  std::vector<double> kept;     // bytes, by kind
  std::vector<Seconds> copies;  // of both passes of a microbatch, by kind

 private:
  // What is left of a layer's saved tensors beside what recompute drops.
  struct LeftOfLayer {
    double dropped = 0;             // bytes at most, less what is kept in their place
    std::vector<SavedBytes> maybe;  // may be sent away
  };

  static LeftOfLayer left_of(const LayerSavings&, std::uint32_t parts);
  void drop(const RecomputeWay&);

  const ChunkTables& chunks_;
  const ChoiceWays& ways_;
  std::size_t recompute_ = std::numeric_limits<std::size_t>::max();
  std::vector<LeftOfLayer> left_;  // by layer
  std::vector<double> sent_;       // bytes, by layer
};

}  // namespace pleat
