// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The weights that a rank begins with: random ones, those of a model that is read, or what a test
// makes of either. Their source gives whole tensors, and the rank keeps its part of each.
#pragma once

namespace pleat::execute {

struct Execution;

void initialise_weights(Execution&);

}  // namespace pleat::execute
