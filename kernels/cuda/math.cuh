// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Activations and their slopes in fp32, as kernels/cpu has them.
#pragma once

namespace pleat::cuda {

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ __forceinline__ float swiglu_of(float gate, float up, float probability) {
  return gate * sigmoid(gate) * up * probability;
}

// tanh, saturating cleanly: 1 - 2/(exp(2x)+1) is -1 and 1 at the ends.
__device__ __forceinline__ float tanh_of(float x) { return 1.0f - 2.0f / (expf(2.0f * x) + 1.0f); }

// GELU in its tanh approximation (arXiv:1606.08415), with its derivative.
struct Gelu {
  float value, slope;
  __device__ __forceinline__ explicit Gelu(float x) {
    constexpr float kA = 0.7978845608028654f;  // sqrt(2/pi)
    constexpr float kB = 0.044715f;
    const float t = tanh_of(kA * (x + kB * x * x * x));
    value = 0.5f * x * (1.0f + t);
    slope = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (kA * (1.0f + 3.0f * kB * x * x));
  }
};

}  // namespace pleat::cuda
