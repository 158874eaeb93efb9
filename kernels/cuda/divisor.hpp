// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A divisor that the host knows and kernels divide by often. A GPU has no instruction for whole
// quotients: a division in 32 bits takes some twenty, the product and the shift here two.
//
// With s = ceil(log2 d) and m = ceil(2^(31 + s) / d) the quotient is n m / 2^(31 + s), rounded
// down: m is above 2^(31 + s) / d by less than 1, so n m / 2^(31 + s) is above n / d by less than
// n / 2^(31 + s), which for n < 2^31 is below 1 / d: too little to reach the next whole quotient
// (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994).
// m fits 32 bits, n m fits 63.
#pragma once

#include <bit>
#include <cstdint>

#include "core/diagnostics.hpp"

namespace pleat::cuda {

struct Divisor {
  int value = 1;
  std::uint32_t multiplier = 1U << 31;
  int shift = 31;

  Divisor() = default;
  explicit Divisor(int d) : value(d) {
    PLEAT_ASSERT(d > 0);
    const auto of = static_cast<std::uint64_t>(d);
    shift = 31 + std::bit_width(of - 1);
    multiplier = static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + of - 1) / of);
  }
};

}  // namespace pleat::cuda
