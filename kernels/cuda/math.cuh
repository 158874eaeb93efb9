// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Activations and their slopes in fp32, as kernels/cpu has them.
#pragma once

#include <type_traits>

#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// exp and sigmoid where all operands are bf16: one instruction of the GPU's function unit each for
// 2^x and 1/x, where expf and a division are some ten: by count as long as the loads. The error is
// below 2^-22 + 2^-23 |x|, bf16 rounds to 2^-9. Results below 2^-126 are 0.
#ifdef __CUDACC__
__device__ __forceinline__ float exp_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
  return y;
}
__device__ __forceinline__ float reciprocal_approximate(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#else
inline float exp_approximate(float x) { return expf(x); }
inline float reciprocal_approximate(float x) { return 1.0f / x; }
#endif

// By the type of the operands (Vec's): approximate for bf16, else as above.
template <class T>
__device__ __forceinline__ float exp_for(float x) {
  if constexpr (std::is_same_v<T, Bf16Value>) {
    return exp_approximate(x);
  } else {
    return expf(x);
  }
}
template <class T>
__device__ __forceinline__ float sigmoid_for(float x) {
  if constexpr (std::is_same_v<T, Bf16Value>) {
    return reciprocal_approximate(1.0f + exp_approximate(-x));
  } else {
    return sigmoid(x);
  }
}

template <class T>
__device__ __forceinline__ float swiglu_of(float gate, float up, float probability) {
  return gate * sigmoid_for<T>(gate) * up * probability;
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
