// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Normal numbers: every set's are the host's to the bit, wherever they begin and lie.
#include "core/numerics/normal.hpp"
#include "core/numerics/small_float.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

TEST_P(KernelConformance, NormalNumbersAreTheHostsBits) {
  const double deviation = 0.02;
  for (const DType type : {DType::fp32, DType::bf16}) {
    set_floats(type);
    for (const std::int64_t n : {0, 1, 7, 8, 9, 250, 70'001}) {
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{5}, std::int64_t{1} << 40}) {
        set_shift(n % 3);
        const std::uint64_t key = mixed_bits(static_cast<std::uint64_t>(n));
        const View there = out(1, n);
        k().fill_normal(key, first, deviation, there);
        std::vector<float> numbers(static_cast<std::size_t>(n));
        normal_numbers(key, static_cast<std::uint64_t>(first), deviation, numbers);
        Matrix here(1, n);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          here.values[i] = type == DType::bf16 ? to_float(to_bf16(numbers[i])) : numbers[i];
        }
        EXPECT_EQ(get(there), here) << n << " from " << first;
      }
    }
  }
}

}  // namespace
}  // namespace pleat::conformance
