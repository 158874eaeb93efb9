// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Splits a layer's backward pass for orders that defer weight gradients (docs/MODEL.md section 4).
#pragma once

#include "core/program/layer_program.hpp"

namespace pleat {

// Moves what only weight gradients need behind the rest of the backward list, each part in its own
// order, and sets LayerProgram::weight_ops. Tensors it reads live until then.
void split_backward(LayerProgram&);

}  // namespace pleat
