// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Element-wise functions that models name and that have no operation of their own.
#pragma once

#include <cstdint>

namespace pleat {

enum class Elementwise : std::uint8_t {
  none,          // priced only
  gated_gelu,    // u[T,2f] = gate | up: gelu(gate) * up, tanh approximation
  relu_squared,  // u[T,f]: max(u, 0)²
  sigmoid_gate,  // o[T,c], g[T,c]: o * sigmoid(g)
};

}  // namespace pleat
