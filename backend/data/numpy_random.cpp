// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/data/numpy_random.hpp"

#include <array>

namespace pleat {

double numpy_sum(std::span<const double> v) {
  constexpr std::size_t kLanes = 8, kBlock = 128;
  if (v.size() < kLanes) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum;
  }
  if (v.size() > kBlock) {
    std::size_t half = v.size() / 2;
    half -= half % kLanes;
    return numpy_sum(v.first(half)) + numpy_sum(v.subspan(half));
  }
  std::array<double, kLanes> lane;
  for (std::size_t i = 0; i < kLanes; ++i) lane[i] = v[i];
  std::size_t i = kLanes;
  for (; i + kLanes <= v.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lane[j] += v[i + j];
  }
  double sum =
      ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
  for (; i < v.size(); ++i) sum += v[i];
  return sum;
}

}  // namespace pleat
