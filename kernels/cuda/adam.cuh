// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// AdamW's step of one element, with decoupled weight decay (Loshchilov and Hutter,
// arXiv:1711.05101).
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

struct AdamFactors {
  float beta1, beta2, rest1, rest2, rate, root, keep, scale, eps;

  AdamFactors(const AdamW& a, double grad_scale)
      : beta1(static_cast<float>(a.beta1)),
        beta2(static_cast<float>(a.beta2)),
        rest1(static_cast<float>(1 - a.beta1)),
        rest2(static_cast<float>(1 - a.beta2)),
        rate(static_cast<float>(a.lr / (1 - std::pow(a.beta1, static_cast<double>(a.step))))),
        root(static_cast<float>(
            1 / std::sqrt(1 - std::pow(a.beta2, static_cast<double>(a.step))))),
        keep(static_cast<float>(1 - a.lr * a.weight_decay)),
        scale(static_cast<float>(grad_scale)),
        eps(static_cast<float>(a.eps)) {}

  __device__ __forceinline__ void step(float gradient, float& mean, float& square,
                                       float& weight) const {
    // Spelled out, so that every kernel fuses the same operations: all have the same bits.
    const float d = __fmul_rn(gradient, scale);
    mean = fmaf(beta1, mean, __fmul_rn(rest1, d));
    square = fmaf(beta2, square, __fmul_rn(__fmul_rn(rest2, d), d));
    weight = fmaf(keep, weight, -__fmul_rn(rate, mean) / fmaf(sqrtf(square), root, eps));
  }
};

}  // namespace pleat::cuda
