// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing beside the kernels: experts dealt out by a fixed rule, and how close a real decision was.
#pragma once

#include <vector>

#include "kernels/kernel_set.hpp"

namespace pleat {

// Experts round robin, experts[t,j] = ((first + t)*k + j) mod E. `first` is where the rank before
// ended, so that all experts get the same number of rows when E divides those of all ranks that
// send to them. Probabilities are the scores of those experts, normalised and scaled as the model
// does. `scores` is scratch.
void forced_topk(View logits, std::int64_t first, View probs, View experts, const RouterShape&,
                 std::vector<float>& scores);

// Smallest gap, over all tokens, between the worst selected expert's score and the best one that
// was not selected though its group was. Infinity when there is no such expert. `scores` is
// scratch.
[[nodiscard]] double router_margin(View logits, View bias, View experts, const RouterShape&,
                                   std::vector<float>& scores);

}  // namespace pleat
