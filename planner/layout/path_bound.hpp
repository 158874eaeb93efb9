// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What no way to place layers on the virtual stages of a pipeline goes below, from paths through its
// slots (slot_paths.hpp). A step is no shorter than any path, so than any mean of paths; and a mean in
// which a layer counts about as much wherever it lies says so much of every layout.
//
//   step >= sum over kinds of layers of (their number * the least that one adds, of all virtual stages)
//
// Round by round each pipeline stage adds its longest path for the layout that is hardest on the best
// mean so far (mean_path.hpp). Layers are divisible there; the means of each stage's paths by themselves
// then bound whole ones (rank_loads.hpp).
#pragma once

#include "planner/layout/mean_path.hpp"
#include "simulator/schedule_table.hpp"

namespace pleat {

// How a slot runs a piece: whole passes alone, the halves of a backward pass, or in a pair.
enum class PieceUse : std::uint8_t { forward, backward, input, weight, pair_forward, pair_backward };
inline constexpr std::size_t kPieceUses = 6;
// Least times, by PieceUse. Those of a pair add up to no more than the pair takes.
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

// Paths and means of paths: of each stage all of its slots, of each stage what is best in the mean, and
// that mean. All bound every placement.
[[nodiscard]] std::vector<PathSum> bounding_paths(const ScheduleTable&, const PlacedPieces&,
                                                  Seconds transfer);

// No placement of the pieces takes less from the first slot's start to the last one's end.
// `enough`: more need not be said.
[[nodiscard]] Seconds path_bound(const ScheduleTable&, const PlacedPieces&, Seconds transfer,
                                 Seconds enough);

}  // namespace pleat
