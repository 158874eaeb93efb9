// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Quotients by product and shift are those of a division, at their edges and in between.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/cuda/launch.cuh"

namespace pleat::cuda {
namespace {

TEST(Divisor, GivesTheQuotientOfADivision) {
  std::mt19937 random(7);
  const auto any = [&] { return static_cast<int>(random() % INT32_MAX); };
  std::vector<int> divisors{INT32_MAX, INT32_MAX - 1};
  for (int d = 1; d <= 1000; ++d) divisors.push_back(d);
  for (int power = 10; power < 31; ++power) {
    for (const int off : {-1, 0, 1}) divisors.push_back((1 << power) + off);
  }
  for (int i = 0; i < 1000; ++i) divisors.push_back(1 + any());
  for (const int d : divisors) {
    const Divisor divisor(d);
    std::vector<std::int64_t> values{0, 1, INT32_MAX - 1, INT32_MAX};
    for (const std::int64_t multiple : {1, 2, 3, any() / d, INT32_MAX / d}) {
      for (const int off : {-1, 0, 1}) values.push_back(multiple * d + off);
    }
    for (int i = 0; i < 10; ++i) values.push_back(any());
    for (const std::int64_t n : values) {
      if (n < 0 || n > INT32_MAX) continue;
      ASSERT_EQ(quotient(static_cast<int>(n), divisor), n / d) << n << " / " << d;
    }
  }
}

TEST(Divisor, IsOneUnlessItIsGiven) { EXPECT_EQ(quotient(INT32_MAX, Divisor()), INT32_MAX); }

}  // namespace
}  // namespace pleat::cuda
