// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Draws that are the same on every machine: the distributions of the standard library are not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace pleat::test {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  bool chance(double p) { return static_cast<double>(random_() >> 11) < p * 0x1p53; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace pleat::test
