// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing by its definition: sort all experts, keep k. The gradient holds the selection fixed.
#pragma once

#include <vector>

#include "kernels/kernel_set.hpp"
#include "tests/kernels/conformance/matrix.hpp"

namespace pleat::conformance {

struct Routed {
  Matrix probs;                       // [T, k]
  std::vector<std::int32_t> experts;  // [T * k]
};
[[nodiscard]] Routed route(const Matrix& logits, const Matrix* bias, const RouterShape& s);
// The probabilities of a given selection.
[[nodiscard]] Matrix probabilities_of(const Matrix& logits,
                                      const std::vector<std::int32_t>& experts,
                                      const RouterShape& s);

}  // namespace pleat::conformance
