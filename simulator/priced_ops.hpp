// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What each operation of a layer takes, and which ones it must follow. Worked out once, it serves
// all timelines of the layer: of a pass alone, of a part of it, and beside another layer's.
#pragma once

#include <vector>

#include "core/program/layer_program.hpp"
#include "core/program/op_graph.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

struct PricedPass {
  std::vector<OpCost> costs;  // by op
  Dependencies after;  // by op; of none where all run on the compute stream, one after the other
};
struct PricedLayer {
  PricedPass forward, backward;
  [[nodiscard]] const PricedPass& of(Pass p) const {
    return p == Pass::forward ? forward : backward;
  }
};

// A layer and what its ops take.
struct TimedLayer {
  const LayerProgram& layer;
  const PricedLayer& priced;
};

[[nodiscard]] PricedLayer price_ops(const LayerProgram&, const Binding&, const ClusterView&,
                                    const Profile&);

}  // namespace pleat
