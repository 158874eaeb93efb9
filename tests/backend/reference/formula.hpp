// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Weights, tokens and signatures that both sides evaluate: tests/reference/formula.py is the same
// in Python.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pleat::test {

// Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), the output mix.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline std::uint64_t key_of(const std::string& name) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mix(h);
}

// Uniform: matrices +-sqrt(3/columns), norms 1 +- 0.2, other vectors +-0.2.
inline void formula_weight(const std::string& name, std::span<const std::int64_t> shape,
                           std::span<float> out) {
  const std::uint64_t key = key_of(name);
  const double size = shape.size() == 1 ? 0.2 : std::sqrt(3.0 / static_cast<double>(shape.back()));
  const double middle = shape.size() == 1 && name.ends_with("norm") ? 1.0 : 0.0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double unit = static_cast<double>(mix(key + i) >> 40U) / 8388608.0 - 1.0;
    out[i] = static_cast<float>(middle + size * unit);
  }
}

inline std::vector<std::uint8_t> formula_tokens(std::size_t n) {
  std::vector<std::uint8_t> out;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < n; ++i) {
    state = state * 1664525 + 1013904223;
    out.push_back(static_cast<std::uint8_t>((state >> 24U) % 64));
  }
  return out;
}

// The norm, and inner products with vectors of random signs.
inline constexpr std::size_t kSketches = 8;
using Signature = std::array<double, 1 + kSketches>;

inline Signature signature(const std::string& name, std::span<const float> values) {
  Signature s{};
  for (float v : values) s[0] += static_cast<double>(v) * static_cast<double>(v);
  s[0] = std::sqrt(s[0]);
  for (std::size_t i = 0; i < kSketches; ++i) {
    const std::uint64_t key = key_of(name + "#" + std::to_string(i));
    for (std::size_t j = 0; j < values.size(); ++j) {
      const bool negative = (mix(key + j) & 1U) != 0;
      s[1 + i] += negative ? -static_cast<double>(values[j]) : static_cast<double>(values[j]);
    }
  }
  return s;
}

// An estimate of |a - b| / |b| for the tensors that were signed: the mean square of such an inner
// product is the square of the norm.
inline double difference(const Signature& a, const Signature& b) {
  double sum = 0;
  for (std::size_t i = 1; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  if (b[0] == 0) return sum == 0 && a[0] == 0 ? 0 : INFINITY;
  return std::max(std::sqrt(sum / kSketches), std::abs(a[0] - b[0])) / b[0];
}

}  // namespace pleat::test
