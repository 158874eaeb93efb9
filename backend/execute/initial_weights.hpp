// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The weights that a rank begins with: random ones, a model's that is read, or what a test makes of
// either. What makes weights sees whole tensors, of which this rank keeps its part.
#pragma once

namespace pleat::execute {

struct Execution;

void initialise_weights(Execution&);

}  // namespace pleat::execute
