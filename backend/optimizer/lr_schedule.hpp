// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The learning rate of every step: warm-up, then a way down (mcore optimizer_param_scheduler.py).
#pragma once

#include <cstdint>
#include <string_view>

namespace pleat {

enum class LrDecay : std::uint8_t { constant, linear, cosine, inverse_square_root, wsd };
// How WSD's last steps go down (arXiv:2405.18392, arXiv:2404.06395).
enum class WsdDecay : std::uint8_t { linear, cosine, exponential, minus_sqrt };

// In updates of the weights, from 0 on: a step that was skipped does not count.
struct LrSchedule {
  LrDecay decay = LrDecay::constant;
  double start = 0, lowest = 0;        // before the warm-up, after the decay
  std::int64_t warmup_updates = 0;     // linear, from `start` to the peak
  std::int64_t decay_updates = 0;      // until `lowest` is reached, the warm-up included
  std::int64_t wsd_decay_updates = 0;  // wsd: the last of them, on the way down
  WsdDecay wsd_decay = WsdDecay::exponential;
  bool operator==(const LrSchedule&) const = default;
};

// Of the update that follows `updates` others.
[[nodiscard]] double learning_rate(const LrSchedule&, double peak, std::int64_t updates);

[[nodiscard]] std::string_view name_of(LrDecay);  // Megatron's words: "inverse-square-root", "WSD"
[[nodiscard]] std::string_view name_of(WsdDecay);

}  // namespace pleat
