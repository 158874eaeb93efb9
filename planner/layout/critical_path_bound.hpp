// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A lower bound on the step over all layouts: however the layers are placed on the virtual stages,
// the step takes at least this long.
//
// A path is a chain of slots in which each waits for the one before (slot_paths.hpp). The step
// takes at least as long as every path, so also as long as every weighted mean of paths. In a mean
// a layer has a cost for each virtual stage that it may lie on. Whatever the layout, it pays at
// least the smallest:
//
//   step >= sum over kinds of layers (number of layers * smallest cost on any virtual stage)
//
// This is tight where the mean makes a layer cost about the same everywhere. Such a mean is
// searched for in rounds (path_weights.hpp): find the layout that is shortest under the best
// weights so far, and add each pipeline stage's longest path for it. That treats layers as
// divisible. For whole layers, each stage's own mean is used in a second bound (min_max_load.hpp).
#pragma once

#include "planner/layout/path_weights.hpp"
#include "simulator/schedule_table.hpp"

namespace pleat {

// How a slot runs a piece: whole passes alone, the halves of a backward pass, or in a pair.
enum class PieceUse : std::uint8_t {
  forward,
  backward,
  input,
  weight,
  pair_forward,
  pair_backward
};
inline constexpr std::size_t kPieceUses = 6;
// The least time of a piece in each use. The two times of a pair add up to at most the time of the
// pair.
struct PieceTime {
  Seconds of[kPieceUses];
  [[nodiscard]] Seconds operator[](PieceUse use) const { return of[static_cast<std::size_t>(use)]; }
};
struct PieceKind {
  PieceTime time;
  int count = 0;  // in the model
};

struct PlacedPieces {
  std::vector<PieceKind> free;   // anywhere
  PieceTime first, last;         // fixed on the first and last virtual stage
};

// Paths and means of paths, each of which is a lower bound of every layout: for each stage the path
// through all of its slots, for each stage the best mean of its paths, and the best mean of all
// paths.
[[nodiscard]] std::vector<PathSum> bounding_paths(const ScheduleTable&, const PlacedPieces&,
                                                  Seconds transfer);

// The least time from the start of the first slot to the end of the last one, over all layouts.
// Stops as soon as the bound reaches `enough`.
[[nodiscard]] Seconds critical_path_bound(const ScheduleTable&, const PlacedPieces&,
                                          Seconds transfer, Seconds enough);

}  // namespace pleat
