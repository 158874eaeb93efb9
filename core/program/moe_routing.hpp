// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the router decides and the dispatch follows.
#pragma once

#include "core/program/layer_builder.hpp"

namespace pleat {

struct Routed {
  TensorId probs, experts;   // [T,k]; experts: -1 for a copy that is dropped. Where the plan places
                             // experts by load: slots instead, which E stands for then
  TensorId counts;           // [E] rows this rank sends to each expert
  TensorId all_counts;       // [etp*ep,E]; == counts with one rank
  TensorId group_counts;     // [El] rows per local expert
};

// Sizes of the model's routing, for the operations that decide it.
void set_router(Op&, const LocalShape&);
// For those that follow it: with copies of experts there are more of these.
void set_slots(Op&, const LocalShape&);

// Logits, the k best experts, copies over capacity dropped, and the counts.
Routed route(LayerBuilder&, TensorId normed);

}  // namespace pleat
