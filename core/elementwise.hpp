// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Element-wise functions that models name and that have no operation of their own.
#pragma once

#include <cstdint>

namespace pleat {

enum class Elementwise : std::uint8_t {
  none,                // priced only
  gelu,                // u[T,f]: gelu(u), tanh approximation
  gated_gelu,          // u[T,2f] = gate | up: gelu(gate) * up
  relu_squared,        // u[T,f]: max(u, 0)²
  gated_relu_squared,  // u[T,2f]: max(gate, 0)² * up
  clamped_swiglu,  // u[T,2f]: g sigmoid(kGluSlope g) (up + 1) with g = min(gate, kGluLimit) and up
                   // between -kGluLimit and kGluLimit (gpt-oss)
  sigmoid_gate,    // o[T,c], g[T,c]: o * sigmoid(g)
};

inline constexpr float kGluLimit = 7.0F, kGluSlope = 1.702F;

// The first operand is gate | up, twice as wide as the result.
[[nodiscard]] constexpr bool reads_gate_and_up(Elementwise f) {
  return f == Elementwise::gated_gelu || f == Elementwise::gated_relu_squared ||
         f == Elementwise::clamped_swiglu;
}

}  // namespace pleat
