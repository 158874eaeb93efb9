// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Context parallelism by p2p: instead of gathering all keys and values, ranks pass them around a
// ring and attend to one piece at a time; backward the gradients of a piece travel with it, and
// home at the end (Ring Attention, arXiv:2310.01889). Two pieces of each are alive at most.
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

// Turns a layer's gathers of keys and values over the plan's ring into steps, where the plan has
// one.
void apply_ring(LayerProgram&, const Plan&);

}  // namespace pleat
