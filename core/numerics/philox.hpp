// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Random bits as a function of a key and a counter: Philox4x32-10 (Salmon, Moraes, Dror, Shaw:
// Parallel random numbers: as easy as 1, 2, 3, SC 2011). No state: the same anywhere, in any order.
#pragma once

#include <array>
#include <cstdint>

namespace pleat {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

[[nodiscard]] constexpr PhiloxCounter philox(PhiloxCounter c, PhiloxKey key) {
  constexpr std::uint64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = kFirst * c[0], b = kSecond * c[2];
    c = {static_cast<std::uint32_t>(b >> 32U) ^ c[1] ^ key[0], static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32U) ^ c[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

}  // namespace pleat
