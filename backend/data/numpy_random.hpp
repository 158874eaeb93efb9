// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// numpy.random.RandomState's shuffles of one-dimensional arrays, bit for bit, and numpy's sums of
// doubles: Megatron-LM's sample order is made of them.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace pleat {

// The Mersenne Twister, seeded with one number of 32 bits.
class RandomState {
 public:
  explicit RandomState(std::uint32_t seed) : generator_(seed) {}

  // Fisher and Yates from the end; at most 2^32 values. Draws go on where the last call stopped.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[below_or_at(i)]);
  }

 private:
  // Uniform in [0, limit]: draws masked to the bits of the limit until one is not above it.
  std::size_t below_or_at(std::size_t limit) {
    std::uint32_t mask = static_cast<std::uint32_t>(limit);
    for (unsigned shift = 1; shift <= 16; shift *= 2) mask |= mask >> shift;
    std::uint32_t value = 0;
    do value = static_cast<std::uint32_t>(generator_()) & mask;
    while (value > limit);
    return value;
  }

  std::mt19937 generator_;
};

// numpy.sum: pairwise, with eight partial sums in blocks of up to 128.
[[nodiscard]] double numpy_sum(std::span<const double> values);

}  // namespace pleat
