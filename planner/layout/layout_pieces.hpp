// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the pieces of a model that a layout places take in the slots of a pipeline.
#pragma once

#include <vector>

#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "planner/layout/path_bound.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

struct LayoutPieces {
  PlacedPieces pieces;             // decoder layers and depths of prediction are free
  Seconds transfer;                // at least, between stages
  std::vector<std::size_t> kinds;  // of each free piece, in the model's order; into pieces.free
  [[nodiscard]] std::vector<Seconds> in_order() const;  // both passes of each, in pairs
};

// The plan in which all decoder layers of a kind are treated the same, with no more work than this.
[[nodiscard]] Plan with_like_layers(Plan);

// At the burst clock, of a plan that treats all decoder layers of a kind the same.
[[nodiscard]] LayoutPieces pieces_of(const ModelSpec&, const Plan&, const PlanParts&,
                                     const Profile& burst);

}  // namespace pleat
