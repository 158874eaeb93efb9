// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/numerics/normal.hpp"

namespace pleat {

void normal_numbers(std::uint64_t key, std::uint64_t first, double deviation,
                    std::span<float> out) {
  for (std::size_t at = 0; at < out.size(); ++at) {
    out[at] = normal_number(key, first + at, deviation);
  }
}

}  // namespace pleat
