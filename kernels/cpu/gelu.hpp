// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh approximation (arXiv:1606.08415), with its derivative.
#pragma once

#include "kernels/cpu/vector_math.hpp"

namespace pleat::cpu {

// tanh, saturating cleanly: 1 - 2/(exp(2x)+1) is -1 and 1 at the ends.
inline float tanh_f32(float x) { return 1.0F - 2.0F / (exp_f32(2.0F * x) + 1.0F); }

struct Gelu {
  float value, slope;
  explicit Gelu(float x) {
    constexpr float kA = 0.7978845608028654F;  // sqrt(2/pi)
    constexpr float kB = 0.044715F;
    const float t = tanh_f32(kA * (x + kB * x * x * x));
    value = 0.5F * x * (1.0F + t);
    slope = 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * (kA * (1.0F + 3.0F * kB * x * x));
  }
};

}  // namespace pleat::cpu
