// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/min_max_load.hpp"

#include <algorithm>
#include <limits>

namespace pleat {
namespace {

constexpr int kMostNodes = 20'000;
constexpr double kClose = 1e-4;  // relative; stop when the answer is this close to the known bound

// Depth first over the ranks in order, and for each rank over the kinds of layers.
class RankLoads {
 public:
  RankLoads(const std::vector<RankLoad>& sums, const std::vector<int>& counts, Seconds least,
            Seconds enough)
      : sums_(sums), left_(counts), kinds_(counts.size()), ranks_(sums.front().weight.size()),
        least_(least), best_(enough) {
    for (const RankLoad& s : sums) known_.push_back(s.fixed);
    sum_tails();
  }

  Seconds run() {
    descend(0, 0);
    // If it stopped early, a distribution better than the best found may exist.
    return stopped() ? least_ : best_;
  }

 private:
  [[nodiscard]] bool stopped() const {
    return nodes_ > kMostNodes || best_ <= least_ * (1 + kClose);
  }

  // For each first open rank q: the least that a layer of each kind adds on any open rank, to every
  // load and to the mean of the open ranks' loads.
  void sum_tails() {
    const std::size_t n = sums_.size();
    const Seconds none(std::numeric_limits<double>::infinity());
    of_each_.assign(ranks_, {});
    of_mean_.assign(ranks_, {});
    for (std::size_t q = 0; q < ranks_; ++q) {
      for (std::size_t k = 0; k < kinds_; ++k) {
        for (std::size_t first = 0; first < n; first += ranks_) {
          Seconds mean = none;
          for (std::size_t r = q; r < ranks_; ++r) {
            Seconds all;
            for (std::size_t s = q; s < ranks_; ++s) all += sums_[first + s].weight[r][k];
            mean = std::min(mean, all * (1.0 / static_cast<double>(ranks_ - q)));
          }
          of_mean_[q].push_back(mean);
        }
        for (const RankLoad& s : sums_) {
          Seconds one = none;
          for (std::size_t r = q; r < ranks_; ++r) one = std::min(one, s.weight[r][k]);
          of_each_[q].push_back(one);
        }
      }
    }
  }

  // A lower bound of the largest load, with the remaining layers on the ranks from `rank` on.
  [[nodiscard]] Seconds bound(std::size_t rank) const {
    const std::size_t n = sums_.size(), sets = n / ranks_;
    if (rank == ranks_) return *std::ranges::max_element(known_);
    Seconds most;
    for (std::size_t s = 0; s < n; ++s) {
      Seconds sum = known_[s];
      for (std::size_t k = 0; k < kinds_; ++k) sum += of_each_[rank][k * n + s] * left_[k];
      most = std::max(most, sum);
    }
    for (std::size_t set = 0; set < sets; ++set) {
      Seconds mean;
      for (std::size_t s = rank; s < ranks_; ++s) mean += known_[set * ranks_ + s];
      mean = mean * (1.0 / static_cast<double>(ranks_ - rank));
      for (std::size_t k = 0; k < kinds_; ++k) mean += of_mean_[rank][k * sets + set] * left_[k];
      most = std::max(most, mean);
    }
    return most;
  }

  void give(std::size_t rank, std::size_t kind, int layers) {
    left_[kind] -= layers;
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      known_[s] += sums_[s].weight[rank][kind] * layers;
    }
  }

  void descend(std::size_t rank, std::size_t kind) {
    if (stopped()) return;
    ++nodes_;
    if (kind == kinds_) {
      if (bound(rank + 1) >= best_) return;
      if (rank + 1 == ranks_) {
        best_ = bound(rank + 1);
      } else {
        descend(rank + 1, 0);
      }
      return;
    }
    const int left = left_[kind];
    const auto open = static_cast<int>(ranks_ - rank);
    const bool last = open == 1;
    for (int away = 0; away <= left; ++away) {
      for (const int side : {1, -1}) {
        const int layers = last ? left : left / open + side * away;
        if (layers < 0 || layers > left || (away == 0 && side < 0)) continue;
        give(rank, kind, layers);
        if (bound(rank) < best_) descend(rank, kind + 1);
        give(rank, kind, -layers);
        if (last) return;
      }
    }
  }

  const std::vector<RankLoad>& sums_;
  std::vector<int> left_;
  std::size_t kinds_, ranks_;
  Seconds least_, best_;
  std::vector<Seconds> known_;                          // of each sum, what is given out
  std::vector<std::vector<Seconds>> of_each_, of_mean_;  // [rank][kind][sum], [rank][kind][set]
  int nodes_ = 0;
};

}  // namespace

Seconds min_max_load(const std::vector<RankLoad>& sums, const std::vector<int>& counts,
                    Seconds least, Seconds enough) {
  if (least >= enough) return enough;
  return RankLoads(sums, counts, least, enough).run();
}

}  // namespace pleat
