// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where every instance's weights lie in the buckets, and how many elements these have.
#pragma once

#include <vector>

#include "core/program/placed_weights.hpp"

namespace pleat {

// `weights`: of each of the stage's layer programs.

// Parameters, those that are summed over tp first. A table that several layers have is the first
// one's. `shares_table`: as lay_out_buckets has it.
void place_parameters(StageProgram&, const std::vector<PlacedWeights>& weights, const Plan&,
                      bool shares_table);
// The same for buckets that are sharded layer by layer.
void place_by_layer(StageProgram&, const std::vector<PlacedWeights>& weights, const Plan&);
// Behind the padded parameters: biases, then what they are updated by.
void place_buffers(StageProgram&, const std::vector<PlacedWeights>& weights, const Plan&);

// The elements alone, of a stage that is only priced: nobody asks where a weight lies. `narrow`:
// also those that narrow products read.
void count_weights(StageProgram&, const Plan&, bool narrow);

}  // namespace pleat
