// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// DeepEP and HybridEP send tokens as they are, tile-level kernels that gather tokens pick the local
// experts': which copies there are of each the exchange reads from the router's choice, which the
// backward pass keeps for it.
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

void apply_token_exchange(LayerProgram&, const Plan&);

}  // namespace pleat
