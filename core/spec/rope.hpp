// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rotary positions: how fast each pair of columns turns, and how models stretch that to longer
// sequences.
#pragma once

#include <cstdint>

namespace pleat {

// unknown: a config names a rule that is not executed here.
enum class RopeRule : std::uint8_t { plain, linear, llama3, yarn, unknown };

struct RopeScaling {
  RopeRule rule = RopeRule::plain;
  double factor = 1;              // of the length
  double original_positions = 0;  // llama3, yarn: trained length before
  double low_freq_factor = 1, high_freq_factor = 4;          // llama3
  double beta_fast = 32, beta_slow = 1;                      // yarn: turns within that length
  bool truncate = true;                                      // yarn: the ramp between whole pairs
  double magnitude = 1;  // yarn: of cosines and sines
  double scores = 1;     // factor of the attention scores (DeepSeek's mscale, squared)
  bool operator==(const RopeScaling&) const = default;
};

// Radians a position of pair `pair` of dim / 2. plain: theta^(-2 pair / dim).
// linear: divided by the factor (arXiv:2306.15595). llama3: divided for wave lengths above
// original / low_freq_factor, kept below original / high_freq_factor, a straight line between
// (transformers, modeling_rope_utils.py). yarn: arXiv:2309.00071 section 3.2.
[[nodiscard]] double rope_frequency(const RopeScaling&, double theta, std::int64_t dim,
                                    std::int64_t pair);

// 0.1 m ln(factor) + 1, and 1 up to factor 1 (arXiv:2309.00071 equation 22; m of DeepSeek-V2).
[[nodiscard]] double yarn_magnitude(double factor, double m);

}  // namespace pleat
