// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products of models' experts, and how many rows each expert has.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace pleat::bench {

struct Model {
  const char* name;
  std::int64_t h, f, experts, tokens_an_expert;
};
inline constexpr Model kModels[] = {{"Mixtral-8x7B", 4096, 14336, 8, 2048},
                             {"Qwen3-235B", 4096, 1536, 16, 1024},
                             {"Qwen3-30B", 2048, 768, 128, 512},
                             {"DeepSeek-V3", 7168, 2048, 8, 2048},
                             {"DeepSeek-V3 512", 7168, 2048, 32, 512}};

enum class Counts { even, uneven, routed };
inline constexpr std::array kCountsWords{"", " uneven", " as routed"};

// uneven: expert i has a share of about 1 + i % 4, on no boundary of tiles. routed: as an auxiliary
// loss leaves them, with a standard deviation of 0.26 of the mean (arXiv:2408.15664 table 2;
// docs/MODEL.md section 9).
inline std::vector<std::int32_t> counts_of(const Model& m, Counts kind) {
  const std::int64_t rows = m.experts * m.tokens_an_expert;
  std::mt19937 random(1);
  std::normal_distribution<double> normal(1, 0.26);
  std::vector<double> share;
  double all = 0;
  for (std::int64_t i = 0; i < m.experts; ++i) {
    share.push_back(kind == Counts::even     ? 1
                    : kind == Counts::uneven ? static_cast<double>(1 + i % 4) +
                                                   0.03 * static_cast<double>(i % 3 - 1)
                                             : std::max(0.1, normal(random)));
    all += share.back();
  }
  std::vector<std::int32_t> counts;
  double before = 0;
  for (const double s : share) {
    const auto end = [&](double sum) {
      return static_cast<std::int64_t>(std::llround(static_cast<double>(rows) * sum / all));
    };
    counts.push_back(static_cast<std::int32_t>(end(before + s) - end(before)));
    before += s;
  }
  return counts;
}

}  // namespace pleat::bench
