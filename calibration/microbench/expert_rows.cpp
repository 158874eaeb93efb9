// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/expert_rows.hpp"

#include <algorithm>
#include <random>

namespace pleat {
namespace {

constexpr int kExperts = 64;  // at least one a rank
constexpr double kHot = 4, kMostHot = 7.0 / 8;

// Shares of the experts, each with those before it.
std::vector<double> shares_up_to(RowShares shares, int experts, int ranks) {
  std::vector<double> sums;
  double sum = 0;
  const double hot = std::min(kMostHot, kHot / ranks);
  for (int e = 0; e < experts; ++e) {
    double share = 1;
    if (shares == RowShares::zipf) share = 1.0 / (e + 1);
    if (shares == RowShares::hot) share = e == 0 ? hot : (1 - hot) / (experts - 1);
    sums.push_back(sum += share);
  }
  return sums;
}

}  // namespace

std::vector<std::vector<std::int64_t>> expert_rows(RowShares shares, int ranks, std::int64_t rows) {
  const auto count = static_cast<std::size_t>(ranks);
  if (shares == RowShares::even) return {count, std::vector<std::int64_t>(count, rows / ranks)};
  const int experts = std::max(kExperts, ranks);
  const std::vector<double> sums = shares_up_to(shares, experts, ranks);
  std::vector<std::vector<std::int64_t>> all(count, std::vector<std::int64_t>(count, 0));
  for (std::size_t from = 0; from < count; ++from) {
    std::minstd_rand random(static_cast<unsigned>(from) + 1);
    random.discard(8);  // the first numbers of neighbouring seeds are neighbours
    for (std::int64_t r = 0; r < rows; ++r) {
      const double drawn = static_cast<double>(random() - 1) /
                           static_cast<double>(std::minstd_rand::max()) * sums.back();
      const auto expert = std::upper_bound(sums.begin(), sums.end(), drawn) - sums.begin();
      ++all[from][static_cast<std::size_t>(std::min<std::ptrdiff_t>(expert, experts - 1) * ranks /
                                           experts)];
    }
  }
  return all;
}

std::int64_t busiest(const std::vector<std::vector<std::int64_t>>& rows) {
  std::int64_t most = 0;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    std::int64_t sent = 0, received = 0;
    for (std::size_t other = 0; other < rows.size(); ++other) {
      if (other == rank) continue;
      sent += rows[rank][other];
      received += rows[other][rank];
    }
    most = std::max({most, sent, received});
  }
  return most;
}

const char* name_of(RowShares shares) {
  switch (shares) {
    case RowShares::even:
      return "even";
    case RowShares::uniform:
      return "uniform";
    case RowShares::zipf:
      return "zipf";
    case RowShares::hot:
      return "hot";
  }
  return "?";
}

}  // namespace pleat
