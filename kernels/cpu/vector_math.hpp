// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Arithmetic on rows that several CPU kernels share: sums and exp, GELU, RMSNorm.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace pleat::cpu {

// Sums in a fixed order, and exp that a compiler can vectorise: both give the same bits wherever
// the data lies in memory (Eigen's reductions and exp peel to alignment, so theirs do not).

inline constexpr std::int64_t kLanes = 16;  // one AVX-512 register, or two of AVX2

// The sum of term(0) to term(n - 1): term i is added to lane i % 16, then lanes are added pairwise.
template <class T, class Term>
[[nodiscard]] inline T lane_sum(std::int64_t n, Term term) {
  T lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
  }
  for (std::int64_t l = 0; i + l < n; ++l) lanes[l] += term(i + l);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

[[nodiscard]] inline float dot(const float* a, const float* b, std::int64_t n) {
  return lane_sum<float>(n, [=](std::int64_t i) { return a[i] * b[i]; });
}

// The largest value; NaN is passed over, -inf for n == 0.
[[nodiscard]] inline float row_max(const float* x, std::int64_t n) {
  float lanes[kLanes];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  }
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  for (std::int64_t l = 1; l < kLanes; ++l) lanes[0] = lanes[l] > lanes[0] ? lanes[l] : lanes[0];
  return lanes[0];
}

// exp(x) within 2 ulp: x = n ln2 + r, a polynomial of degree 6 in r (Cephes expf), times 2^n.
// Below -86.6, where the result is near the smallest normal number, it is 0. NaN stays NaN.
[[nodiscard]] inline float exp_f32(float x) {
  constexpr float kLow = -86.6F, kHigh = 88.75F;
  constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  float c = x < kLow ? kLow : x;
  c = c > kHigh ? kHigh : c;
  const float shifted = c * 1.44269504088896341F + kMagic;
  const float n = shifted - kMagic;
  const float r = (c - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = (p * r * r + r) + 1.0F;
  // n of the magic number's low bits; 2^(n-1) * 2, for 2^128 has no bits of its own.
  const auto exponent = std::bit_cast<std::uint32_t>(shifted) - std::uint32_t{0x4B400000};
  const auto power = std::bit_cast<float>((exponent + std::uint32_t{126}) << 23U);
  const float result = p * power * 2.0F;
  return x < kLow ? 0.0F : result;
}

[[nodiscard]] inline float sigmoid_f32(float x) { return 1.0F / (1.0F + exp_f32(-x)); }

// GELU in its tanh approximation (arXiv:1606.08415), with its derivative.

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

// RMSNorm of one row of n values: y = x * rstd * w, rstd = 1/sqrt(mean(x²) + eps), and its
// gradient.

// Returns rstd.
inline float rms_row(const float* x, const float* w, float* y, std::int64_t n, double eps) {
  const double mean = static_cast<double>(dot(x, x, n)) / static_cast<double>(n);
  const auto rstd = static_cast<float>(1.0 / std::sqrt(mean + eps));
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * rstd * w[i];
  return rstd;
}

// dx = rstd (dy w - x rstd² mean(dy w x)); dw += dy x rstd.
inline void rms_row_bwd(const float* dy, const float* x, const float* w, float rstd, float* dx,
                        float* dw, std::int64_t n) {
  const float sum = lane_sum<float>(n, [=](std::int64_t i) { return dy[i] * w[i] * x[i]; });
  const float mean = sum * rstd * rstd / static_cast<float>(n);
  for (std::int64_t i = 0; i < n; ++i) dx[i] = rstd * (dy[i] * w[i] - x[i] * mean);
  for (std::int64_t i = 0; i < n; ++i) dw[i] += dy[i] * (x[i] * rstd);
}

}  // namespace pleat::cpu
