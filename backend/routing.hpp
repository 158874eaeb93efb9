// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing beside the kernels: experts dealt out by a fixed rule, and how close a real decision was.
#pragma once

#include <vector>

#include "kernels/kernel_set.hpp"

namespace pleat {

// Experts round robin, experts[t,j] = (t*k + j) mod E, so that all of them get the same number of
// rows when E divides T*k. Probabilities are the scores of those experts, normalised and scaled as
// the model does. `scores` is scratch.
void forced_topk(View logits, View probs, View experts, const RouterShape&,
                 std::vector<float>& scores);

// Smallest gap, over all tokens, between the worst selected expert's score and the best one that
// was not selected though its group was. Infinity when there is no such expert. `scores` is
// scratch.
[[nodiscard]] double router_margin(View logits, View bias, View experts, const RouterShape&,
                                   std::vector<float>& scores);

}  // namespace pleat
