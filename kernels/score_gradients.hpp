// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What cuDNN keeps of a deterministic backward pass of attention on Hopper: the gradients of all
// scores, two bytes each, in its workspace (NVIDIA/cudnn-frontend, pull request 398). So few heads
// are taken at a time that these stay small; where those that share keys have too many, also few
// queries (backward_in_runs, kernels/cuda/attention_runs.cpp).
#pragma once

#include <algorithm>
#include <cstdint>

namespace pleat {

struct ScoreGradients {
  std::int64_t batch = 1, heads = 0, groups = 0, rows = 0,
               keys = 0;  // `groups` of heads share keys
};

// Of the gradients of some heads' scores, unless those that share keys have more.
inline constexpr std::int64_t kMostScoreBytes = std::int64_t{1} << 30U;

// Bytes of `heads` heads' scores, whose rows and keys cuDNN rounds up to 64.
[[nodiscard]] constexpr std::int64_t score_bytes(const ScoreGradients& s, std::int64_t heads) {
  const auto in_64s = [](std::int64_t n) { return (n + 63) / 64 * 64; };
  return s.batch * heads * in_64s(s.rows) * in_64s(s.keys) * 2;
}

// Heads to take at a time: all, or whole groups whose scores have at most so many bytes, or one
// group.
[[nodiscard]] constexpr std::int64_t heads_at_once(const ScoreGradients& s,
                                                   std::int64_t most = kMostScoreBytes) {
  std::int64_t heads = s.heads;
  const std::int64_t share = s.heads / s.groups;
  while (heads / share % 2 == 0 && score_bytes(s, heads) > most) heads /= 2;
  return heads;
}

// Scores of heads that share keys that are kept at once; an H200 took 5.8 s for a pass over 17 GB
// of them without cuDNN.
inline constexpr std::int64_t kMostGroupBytes = std::int64_t{4} << 30U;

[[nodiscard]] constexpr bool goes_in_runs(const ScoreGradients& s,
                                          std::int64_t most = kMostGroupBytes) {
  return score_bytes(s, s.heads / s.groups) > most;
}

// Queries of one sequence to take at a time, where it goes in runs: as many 128s as have at most
// `most` bytes of scores with all keys, for heads that share these; at least one.
[[nodiscard]] constexpr std::int64_t rows_at_once(ScoreGradients s,
                                                  std::int64_t most = kMostScoreBytes) {
  constexpr std::int64_t kRows = 128;
  const std::int64_t all = s.rows;
  s.batch = 1;
  s.rows = kRows;
  const std::int64_t bytes = score_bytes(s, s.heads / s.groups);
  return std::min(all, kRows * std::max<std::int64_t>(1, most / bytes));
}

}  // namespace pleat
