// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Delayed scaling (fp8_delayed), as Pleat runs it: a tensor's scale follows from the largest number
// that it had in the kAmaxSteps steps before (TransformerEngine's DelayedScaling with margin 0 and
// "max"). A tensor that is quantised has an amax of its own in the dense bucket's buffers, with one
// number for each group that is scaled by itself: all of it, or each of the model's experts.
//
// Behind biases and loads, and n = BucketState::amax_elements, the buffers hold
//   seen[n]                      of this step so far; cleared at its start, at its end the largest
//                                of all ranks of the stage
//   past[n]                      of the steps before: what scales follow from
//   history[kAmaxSteps, n]       seen of step s in row s % kAmaxSteps
// All microbatches of a step have the same scales, so neither the pipeline's order nor recompute
// changes a number. (TransformerEngine moves on after each microbatch.)
#pragma once

#include <cstdint>

#include "core/program/program.hpp"

namespace pleat {

inline constexpr std::int64_t kAmaxSteps = 16;

// First elements of BucketState::buffers.
struct AmaxPlaces {
  std::int64_t seen = 0, past = 0, history = 0;
};
[[nodiscard]] AmaxPlaces amax_places(const BucketState&);
// Elements of all three.
[[nodiscard]] std::int64_t all_amax_elements(std::int64_t amax_elements);

// Adds the amax of an operand of `product`, with one number for each of `groups`, to a layer's
// weights. It is named for the product, which is there however the layer is divided: a checkpoint
// of one layout has the names of any other.
[[nodiscard]] TensorId add_amax(LayerProgram&, const Op& product, bool gradient,
                                std::int64_t groups);
[[nodiscard]] bool is_amax(const LayerProgram&, const Weight&);

// What a step does before and after its microbatches.
void add_amax_ops(StageProgram&, const Plan&);

}  // namespace pleat
