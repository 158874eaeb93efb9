// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Normal numbers against their definition in a wider type, and their bits, which no machine,
// compiler or device may change.
#include "core/numerics/normal.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace pleat {
namespace {

constexpr std::uint64_t kWhole = std::uint64_t{1} << 53U;

// Of all sizes, near both ends, near every power of two and near every eighth of the circle.
std::vector<std::uint64_t> units() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t k = (mixed_bits(i) >> (11 + i % 53)) + 1;
    all.insert(all.end(), {k, kWhole - k + 1});
  }
  for (int bit = 0; bit <= 53; ++bit) {
    for (std::uint64_t near = 0; near < 3; ++near) {
      const std::uint64_t power = std::uint64_t{1} << static_cast<unsigned>(bit);
      if (power + near <= kWhole) all.push_back(power + near);
      if (power > near) all.push_back(power - near);
    }
  }
  for (std::uint64_t eighth = 1; eighth <= 8; ++eighth) {
    for (std::uint64_t near = 0; near < 3; ++near) {
      all.push_back(eighth * (kWhole / 8) - near);
      if (eighth < 8) all.push_back(eighth * (kWhole / 8) + near);
    }
  }
  return all;
}

TEST(Normal, LogarithmAndCosineAreThose) {
  ASSERT_GE(std::numeric_limits<long double>::digits, 64) << "no wider type to compare with";
  for (const std::uint64_t k : units()) {
    const long double unit = static_cast<long double>(k) / static_cast<long double>(kWhole);
    const long double ln = std::log(unit);
    EXPECT_LE(std::fabs(log_of_unit(k) - ln), 1e-15L * std::fabs(ln)) << k;
    const long double cosine = std::cos(2 * std::numbers::pi_v<long double> * unit);
    EXPECT_LE(std::fabs(cos_of_unit(k) - cosine), 1e-15L) << k;
  }
  EXPECT_EQ(log_of_unit(kWhole), 0);
  EXPECT_EQ(cos_of_unit(0), 1);
  EXPECT_EQ(cos_of_unit(kWhole / 4), 0);
  EXPECT_EQ(cos_of_unit(kWhole / 2), -1);
  EXPECT_EQ(cos_of_unit(kWhole), 1);
}

TEST(Normal, BitsAreTheseEverywhere) {
  std::vector<float> numbers(100'000);
  normal_numbers(1234, 7, 0.02, numbers);
  std::uint64_t hash = 0;
  for (const float x : numbers) hash = mixed_bits(hash ^ std::bit_cast<std::uint32_t>(x));
  EXPECT_EQ(hash, 0x658b4e869d4b54e7ULL);
  std::vector<float> last(1);
  normal_numbers(1234, 7 + 99'999, 0.02, last);
  EXPECT_EQ(last[0], numbers.back());
}

}  // namespace
}  // namespace pleat
