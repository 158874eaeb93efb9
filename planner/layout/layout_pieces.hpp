// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The least times of a model's pieces (decoder layers, prediction depths, embedding, loss) in
// pipeline slots.
#pragma once

#include <vector>

#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "planner/layout/critical_path_bound.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

struct LayoutPieces {
  PlacedPieces pieces;             // decoder layers and prediction depths can be placed freely
  Seconds transfer;                // the least time of a transfer between stages
  std::vector<std::size_t> kinds;  // for each free piece in model order its index into pieces.free
  [[nodiscard]] std::vector<Seconds> in_order() const;  // both passes of each, in pairs
};

// The plan changed so that it treats all decoder layers of a kind alike, with no more work than
// before.
[[nodiscard]] Plan with_like_layers(Plan);

// At the burst clock. The plan must treat all decoder layers of a kind alike (with_like_layers).
[[nodiscard]] LayoutPieces pieces_of(const ModelSpec&, const WorkloadSpec&, const Plan&,
                                     const PlanParts&, const Profile& burst);

}  // namespace pleat
