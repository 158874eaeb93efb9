// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The steps of SGD, LAMB (You et al., arXiv:1904.00962) and Muon (Jordan et al. 2024) but for its
// products. Bound: memory.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"

namespace pleat {
namespace {

using namespace cuda;

struct SgdStep {
  Vec<AnyType> g, m, w;
  float momentum, rate, decay, scale;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float gradient[kPack], mean[kPack], weight[kPack];
    g.load(at, count, gradient);
    m.load(at, count, mean);
    w.load(at, count, weight);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      mean[i] = momentum * mean[i] + (scale * gradient[i] + decay * weight[i]);
      weight[i] -= rate * mean[i];
    }
    m.store(mean, at, count);
    w.store(weight, at, count);
  }
};

struct LambDirection {
  Vec<AnyType> g, m, v, w;
  float beta1, beta2, rest1, rest2, unbias, root, decay, scale, eps;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float gradient[kPack], mean[kPack], square[kPack], weight[kPack];
    g.load(at, count, gradient);
    m.load(at, count, mean);
    v.load(at, count, square);
    w.load(at, count, weight);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float d = gradient[i] * scale;
      mean[i] = beta1 * mean[i] + rest1 * d;
      square[i] = beta2 * square[i] + rest2 * d * d;
      gradient[i] = unbias * mean[i] / (sqrtf(square[i]) * root + eps) + decay * weight[i];
    }
    g.store(gradient, at, count);
    m.store(mean, at, count);
    v.store(square, at, count);
  }
};

struct Momentum {
  Vec<AnyType> g, m;
  float keep, rest, scale;
  bool nesterov;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float gradient[kPack], mean[kPack];
    g.load(at, count, gradient);
    m.load(at, count, mean);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float fresh = rest * (scale * gradient[i]);
      mean[i] = keep * mean[i] + fresh;
      gradient[i] = nesterov ? keep * mean[i] + fresh : mean[i];
    }
    g.store(gradient, at, count);
    m.store(mean, at, count);
  }
};

// y = s y + t x
struct Combine {
  Vec<AnyType> y, x;
  float s, t;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float old[kPack], more[kPack];
    y.load(at, count, old);
    x.load(at, count, more);
#pragma unroll
    for (int i = 0; i < kPack; ++i) old[i] = s * old[i] + t * more[i];
    y.store(old, at, count);
  }
};

void combine(const Resources& r, View y, float s, View x, float t) {
  for_packs(r, y.elements(), Combine{vec<AnyType>(y), vec<AnyType>(x), s, t});
}

// The quintic polynomial whose slope at 0 is as steep as convergence allows.
constexpr float kA = 3.4445F, kB = -4.7750F, kC = 2.0315F;
constexpr int kIterations = 5;
constexpr double kLeastNorm = 1e-7;

}  // namespace

void CudaKernels::sgd(View g, View m, View w, double grad_scale, const Sgd& s) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n);
  for_packs(*resources_, n,
            SgdStep{vec<AnyType>(g), vec<AnyType>(m), vec<AnyType>(w),
                    static_cast<float>(s.momentum), static_cast<float>(s.lr),
                    static_cast<float>(s.weight_decay), static_cast<float>(grad_scale)});
}

void CudaKernels::lamb(View g, View m, View v, View w, double grad_scale, const AdamW& a) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n && v.elements() == n && a.step >= 1);
  const auto step = static_cast<double>(a.step);
  for_packs(*resources_, n,
            LambDirection{.g = vec<AnyType>(g),
                          .m = vec<AnyType>(m),
                          .v = vec<AnyType>(v),
                          .w = vec<AnyType>(w),
                          .beta1 = static_cast<float>(a.beta1),
                          .beta2 = static_cast<float>(a.beta2),
                          .rest1 = static_cast<float>(1 - a.beta1),
                          .rest2 = static_cast<float>(1 - a.beta2),
                          .unbias = static_cast<float>(1 / (1 - std::pow(a.beta1, step))),
                          .root = static_cast<float>(1 / std::sqrt(1 - std::pow(a.beta2, step))),
                          .decay = static_cast<float>(a.weight_decay),
                          .scale = static_cast<float>(grad_scale),
                          .eps = static_cast<float>(a.eps)});
}

void CudaKernels::muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) {
  PLEAT_ASSERT(m.elements() == g.elements());
  for_packs(*resources_, g.elements(),
            Momentum{vec<AnyType>(g), vec<AnyType>(m), static_cast<float>(beta),
                     static_cast<float>(1 - beta), static_cast<float>(grad_scale), nesterov});
}

// The norm comes to the host: not for a graph.
void CudaKernels::newton_schulz(View x, View work) {
  const bool wide = x.rows <= x.cols;
  const std::int64_t side = wide ? x.rows : x.cols, size = x.elements();
  PLEAT_ASSERT(work.elements() >= 2 * size && work.dtype == x.dtype);
  if (size == 0) return;
  const double norm = std::max(std::sqrt(sum_of_squares(x)), kLeastNorm);
  combine(*resources_, x, 0, x, static_cast<float>(1 / norm));
  View from = x, to{work.data, x.dtype, x.rows, x.cols};
  void* const last = work.at(size);
  for (int i = 0; i < kIterations; ++i) {
    const View square{to.data, x.dtype, side, side}, poly{last, x.dtype, side, side};
    gemm(from, !wide, from, wide, square, false);
    gemm(square, false, square, false, poly, false);
    combine(*resources_, poly, kC, square, kB);
    if (wide) {
      gemm(poly, false, from, false, to, false);
    } else {
      gemm(from, false, poly, false, to, false);
    }
    combine(*resources_, to, 1, from, kA);
    std::swap(from, to);
  }
  if (from.data != x.data) copy(from, x);
}

void CudaKernels::scaled_step(View u, View w, double keep, double rate) {
  PLEAT_ASSERT(u.elements() == w.elements());
  combine(*resources_, w, static_cast<float>(keep), u, static_cast<float>(-rate));
}

}  // namespace pleat
