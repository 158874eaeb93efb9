// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How Megatron-LM splits layers over stages where no layout says it: evenly, with embedding or loss
// counted as a layer (--account-for-…), or with a first or last stage of its own size
// (core/transformer/transformer_block.py, get_num_layers_to_build).
#pragma once

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "interop/flag_table.hpp"

namespace pleat::interop {

// Layers and what counts as one.
[[nodiscard]] std::int64_t counted_layers(const ArgumentReader&, const ModelSpec&);

// Writes plan.layout where the split is not the one that a plan without a layout has. PP and VPP
// are the plan's.
void read_split(const ArgumentReader&, const ModelSpec&, Plan&);

}  // namespace pleat::interop
