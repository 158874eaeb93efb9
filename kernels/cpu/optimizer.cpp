// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The step: clearing, copying, the squared norm, AdamW with decoupled weight decay (Loshchilov and
// Hutter, arXiv:1711.05101), LAMB (You et al., arXiv:1904.00962), SGD with momentum.
#include <cmath>
#include <cstring>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

void CpuKernels::zero(View x) {
  if (x.elements() == 0) return;
  std::memset(x.data, 0, static_cast<std::size_t>(bytes_of(x.dtype, x.elements())));
}

void CpuKernels::copy(View x, View y) {
  PLEAT_ASSERT(x.dtype == y.dtype && x.elements() == y.elements());
  if (x.elements() == 0) return;
  std::memcpy(y.data, x.data, static_cast<std::size_t>(bytes_of(x.dtype, x.elements())));
}

double CpuKernels::sum_of_squares(View x) {
  const float* in = x.f32();
  return cpu::lane_sum<double>(x.elements(), [=](std::int64_t i) {
    return static_cast<double>(in[i]) * static_cast<double>(in[i]);
  });
}

void CpuKernels::adamw(View g, View m, View v, View w, double grad_scale, const AdamW& a) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n && v.elements() == n && a.step >= 1);
  const auto step = static_cast<double>(a.step);
  const auto beta1 = static_cast<float>(a.beta1), beta2 = static_cast<float>(a.beta2);
  const auto rest1 = static_cast<float>(1 - a.beta1), rest2 = static_cast<float>(1 - a.beta2);
  const auto rate = static_cast<float>(a.lr / (1 - std::pow(a.beta1, step)));
  const auto root = static_cast<float>(1 / std::sqrt(1 - std::pow(a.beta2, step)));
  const auto keep = static_cast<float>(1 - a.lr * a.weight_decay);
  const auto scale = static_cast<float>(grad_scale), eps = static_cast<float>(a.eps);
  const float* gradient = g.f32();
  float *pm = m.f32(), *pv = v.f32(), *pw = w.f32();
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = gradient[i] * scale;
    pm[i] = beta1 * pm[i] + rest1 * d;
    pv[i] = beta2 * pv[i] + rest2 * d * d;
    pw[i] = keep * pw[i] - rate * pm[i] / (std::sqrt(pv[i]) * root + eps);
  }
}

void CpuKernels::lamb(View g, View m, View v, View w, double grad_scale, const AdamW& a) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n && v.elements() == n && a.step >= 1);
  const auto step = static_cast<double>(a.step);
  const auto beta1 = static_cast<float>(a.beta1), beta2 = static_cast<float>(a.beta2);
  const auto rest1 = static_cast<float>(1 - a.beta1), rest2 = static_cast<float>(1 - a.beta2);
  const auto mean = static_cast<float>(1 / (1 - std::pow(a.beta1, step)));
  const auto root = static_cast<float>(1 / std::sqrt(1 - std::pow(a.beta2, step)));
  const auto decay = static_cast<float>(a.weight_decay);
  const auto scale = static_cast<float>(grad_scale), eps = static_cast<float>(a.eps);
  float *pg = g.f32(), *pm = m.f32(), *pv = v.f32();
  const float* pw = w.f32();
  for (std::int64_t i = 0; i < n; ++i) {
    const float d = pg[i] * scale;
    pm[i] = beta1 * pm[i] + rest1 * d;
    pv[i] = beta2 * pv[i] + rest2 * d * d;
    pg[i] = mean * pm[i] / (std::sqrt(pv[i]) * root + eps) + decay * pw[i];
  }
}

void CpuKernels::sgd(View g, View m, View w, double grad_scale, const Sgd& s) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n);
  const auto momentum = static_cast<float>(s.momentum), lr = static_cast<float>(s.lr);
  const auto decay = static_cast<float>(s.weight_decay), scale = static_cast<float>(grad_scale);
  const float* gradient = g.f32();
  float *pm = m.f32(), *pw = w.f32();
  for (std::int64_t i = 0; i < n; ++i) {
    pm[i] = momentum * pm[i] + (scale * gradient[i] + decay * pw[i]);
    pw[i] -= lr * pm[i];
  }
}

}  // namespace pleat
