// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the router decides and the dispatch follows.
#pragma once

#include "core/program/layer_builder.hpp"

namespace pleat {

struct Routed {
  TensorId probs, experts;   // [T,k]; experts: -1 for a copy that is dropped
  TensorId counts;           // [E] rows this rank sends to each expert
  TensorId all_counts;       // [etp*ep,E]; == counts with one rank
  TensorId group_counts;     // [El] rows per local expert
};

// Sizes of the model's routing, for the operations that follow it.
void set_router(Op&, const LocalShape&);

// Logits, the k best experts, copies over capacity dropped, and the counts.
Routed route(LayerBuilder&, TensorId normed);

}  // namespace pleat
