// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer's step on the CPU: its utilities, each optimizer, and main parameters in halves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/diagnostics.hpp"
#include "core/numerics/normal.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

// The step: clearing, copying, the squared norm, AdamW with decoupled weight decay (Loshchilov and
// Hutter, arXiv:1711.05101), LAMB (You et al., arXiv:1904.00962), SGD with momentum.

void CpuKernels::zero(View x) {
  if (x.elements() == 0) return;
  std::memset(x.data, 0, static_cast<std::size_t>(bytes_of(x.dtype, x.elements())));
}

void CpuKernels::fill_normal(std::uint64_t key, std::int64_t first, double deviation, View out) {
  normal_numbers(key, static_cast<std::uint64_t>(first), deviation,
                 {out.f32(), static_cast<std::size_t>(out.elements())});
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

void CpuKernels::adamw(View g, View m, View v, View w, double grad_scale, const AdamW& a,
                       View weights) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n && v.elements() == n && a.step >= 1);
  PLEAT_ASSERT(weights.data == nullptr);  // bf16 is MixedKernels'
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

// Main parameters of which the weights are one half: rounded to nearest, halves away from zero, so
// that the first of the other 16 bits tells whether the weight went up.

void CpuKernels::join_halves(View weights, View rests, View to) {
  PLEAT_ASSERT(weights.dtype == DType::bf16 && to.dtype == DType::fp32);
  PLEAT_ASSERT(weights.elements() == to.elements() && rests.elements() == to.elements());
  const auto* w = static_cast<const Bf16*>(weights.data);
  const auto* r = static_cast<const std::uint16_t*>(rests.data);
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const std::uint32_t up = r[i] >> 15U;
    to.f32()[i] = std::bit_cast<float>(((std::uint32_t{w[i].bits} - up) << 16U) | r[i]);
  }
}

void CpuKernels::split_halves(View from, View weights, View rests) {
  PLEAT_ASSERT(weights.dtype == DType::bf16 && from.dtype == DType::fp32);
  PLEAT_ASSERT(weights.elements() == from.elements() && rests.elements() == from.elements());
  auto* w = static_cast<Bf16*>(weights.data);
  auto* r = static_cast<std::uint16_t*>(rests.data);
  for (std::int64_t i = 0; i < from.elements(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from.f32()[i]);
    w[i] = {static_cast<std::uint16_t>((bits >> 16U) + ((bits >> 15U) & 1U))};
    r[i] = static_cast<std::uint16_t>(bits);
  }
}

// Muon (Jordan et al. 2024): momentum, Newton-Schulz iterations that take a matrix to the nearest
// orthogonal one, and the step along it.

namespace {

// The quintic polynomial whose slope at 0 is as steep as convergence allows.
constexpr float kA = 3.4445F, kB = -4.7750F, kC = 2.0315F;
constexpr int kIterations = 5;
constexpr double kLeastNorm = 1e-7;

// y = s y + t x
void combine(View y, float s, View x, float t) {
  float* out = y.f32();
  const float* in = x.f32();
  for (std::int64_t i = 0; i < y.elements(); ++i) out[i] = s * out[i] + t * in[i];
}

}  // namespace

void CpuKernels::muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) {
  const std::int64_t n = g.elements();
  PLEAT_ASSERT(m.elements() == n);
  const auto old = static_cast<float>(beta), rest = static_cast<float>(1 - beta);
  const auto scale = static_cast<float>(grad_scale);
  float *pg = g.f32(), *pm = m.f32();
  for (std::int64_t i = 0; i < n; ++i) {
    const float fresh = rest * (scale * pg[i]);
    pm[i] = old * pm[i] + fresh;
    pg[i] = nesterov ? old * pm[i] + fresh : pm[i];
  }
}

void CpuKernels::newton_schulz(View x, View work) {
  const bool wide = x.rows <= x.cols;
  const std::int64_t side = wide ? x.rows : x.cols, size = x.elements();
  PLEAT_ASSERT(work.elements() >= 2 * size);
  if (size == 0) return;
  const double norm = std::max(std::sqrt(sum_of_squares(x)), kLeastNorm);
  combine(x, 0, x, static_cast<float>(1 / norm));
  View from = x, to{work.f32(), x.dtype, x.rows, x.cols};
  float* const last = work.f32() + size;
  for (int i = 0; i < kIterations; ++i) {
    const View square{to.data, x.dtype, side, side}, poly{last, x.dtype, side, side};
    gemm(from, !wide, from, wide, square, false);
    gemm(square, false, square, false, poly, false);
    combine(poly, kC, square, kB);
    if (wide) {
      gemm(poly, false, from, false, to, false);
    } else {
      gemm(from, false, poly, false, to, false);
    }
    combine(to, 1, from, kA);
    std::swap(from, to);
  }
  if (from.data != x.data) copy(from, x);
}

void CpuKernels::scaled_step(View u, View w, double keep, double rate) {
  PLEAT_ASSERT(u.elements() == w.elements());
  combine(w, static_cast<float>(keep), u, static_cast<float>(-rate));
}

}  // namespace pleat
