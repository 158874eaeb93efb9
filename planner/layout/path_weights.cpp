// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/path_weights.hpp"

#include <algorithm>
#include <cmath>

namespace pleat {
namespace {

using Table = std::vector<std::vector<double>>;  // [path][kind * stages + virtual stage]

// Weights from what each option has gained so far.
void lean(const std::vector<double>& gained, std::size_t first, std::size_t count, double rate,
          std::vector<double>& part) {
  const auto begin = gained.begin() + static_cast<std::ptrdiff_t>(first);
  const double most = *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(count));
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    part[i] = std::exp(rate * (gained[i] - most));
    sum += part[i];
  }
  for (std::size_t i = first; i < first + count; ++i) part[i] /= sum;
}

class MixGame {
 public:
  MixGame(const std::vector<PathSum>& paths, const std::vector<int>& counts)
      : paths_(paths), counts_(counts), stages_(paths.front().weight.size()),
        cells_(stages_ * counts.size()) {
    for (const PathSum& p : paths) {
      std::vector<double>& row = table_.emplace_back(cells_);
      for (std::size_t k = 0; k < counts.size(); ++k) {
        for (std::size_t v = 0; v < stages_; ++v) {
          row[k * stages_ + v] = p.weight[v][k].base() * counts[k];
        }
      }
    }
  }

  PathWeights run(int rounds) {
    const std::size_t n = paths_.size();
    std::vector<double> path(n, 1.0 / static_cast<double>(n));
    std::vector<double> cell(cells_, 1.0 / static_cast<double>(stages_));
    std::vector<double> path_gain(n), cell_gain(cells_), path_sum(n), cell_sum(cells_);
    std::vector<double> path_guess(n), cell_guess(cells_);
    PathWeights best = best_pure();
    // The learning rate falls with the changes that each player has seen so far.
    std::vector<double> told_path(n), told_cell(cells_), last_path(n), last_cell(cells_);
    std::vector<double> changed(counts_.size());
    double path_changed = 0;
    for (int round = 1; round <= rounds; ++round) {
      std::swap(told_path, last_path);
      std::swap(told_cell, last_cell);
      std::ranges::fill(told_cell, 0.0);
      for (std::size_t p = 0; p < n; ++p) {
        told_path[p] = paths_[p].fixed.base();
        for (std::size_t c = 0; c < cells_; ++c) {
          told_path[p] += table_[p][c] * cell[c];
          told_cell[c] -= table_[p][c] * path[p];
        }
      }
      path_changed += change(told_path, last_path, 0, n);
      for (std::size_t p = 0; p < n; ++p) {
        path_sum[p] += path[p];
        path_gain[p] += told_path[p];
        path_guess[p] = path_gain[p] + told_path[p];
      }
      for (std::size_t c = 0; c < cells_; ++c) {
        cell_sum[c] += cell[c];
        cell_gain[c] += told_cell[c];
        cell_guess[c] = cell_gain[c] + told_cell[c];
      }
      if (round % kLook == 0 || round == rounds) {
        PathWeights mean = mix_of(path_sum, 1.0 / round);
        if (mean.bound > best.bound) best = std::move(mean);
      }
      lean(path_guess, 0, n, rate(path_changed, n), path);
      for (std::size_t k = 0; k < counts_.size(); ++k) {
        changed[k] += change(told_cell, last_cell, k * stages_, stages_);
        lean(cell_guess, k * stages_, stages_, rate(changed[k], stages_), cell);
      }
    }
    best.layers.assign(stages_, std::vector<double>(counts_.size()));
    for (std::size_t c = 0; c < cells_; ++c) {
      best.layers[c % stages_][c / stages_] = cell_sum[c] / rounds;
    }
    return best;
  }

 private:
  static constexpr int kLook = 16;  // rounds between two computations of the bound

  static double rate(double changed, std::size_t options) {
    const double most = std::log(static_cast<double>(options) + 1);
    return changed > 0 ? std::sqrt(most / changed) : 0;
  }

  // The square of the largest change, apart from what is common to all options.
  static double change(const std::vector<double>& now, const std::vector<double>& before,
                       std::size_t first, std::size_t count) {
    double low = now[first] - before[first], high = low;
    for (std::size_t i = first; i < first + count; ++i) {
      low = std::min(low, now[i] - before[i]);
      high = std::max(high, now[i] - before[i]);
    }
    return (high - low) * (high - low);
  }

  // The best single path.
  [[nodiscard]] PathWeights best_pure() const {
    PathWeights best;
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      std::vector<double> weight(paths_.size());
      weight[p] = 1;
      PathWeights one = mix_of(weight, 1);
      if (p == 0 || one.bound > best.bound) best = std::move(one);
    }
    return best;
  }

  [[nodiscard]] PathWeights mix_of(const std::vector<double>& weight, double share) const {
    PathWeights mix{{}, weight, {}};
    std::vector<double> mean(cells_);
    double bound = 0;
    for (std::size_t p = 0; p < weight.size(); ++p) {
      mix.weight[p] *= share;
      bound += paths_[p].fixed.base() * mix.weight[p];
      for (std::size_t c = 0; c < cells_; ++c) mean[c] += table_[p][c] * mix.weight[p];
    }
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const auto first = mean.begin() + static_cast<std::ptrdiff_t>(k * stages_);
      bound += *std::min_element(first, first + static_cast<std::ptrdiff_t>(stages_));
    }
    mix.bound = Seconds(bound);
    return mix;
  }

  const std::vector<PathSum>& paths_;
  const std::vector<int>& counts_;
  std::size_t stages_, cells_;
  Table table_;
};

}  // namespace

void add(const PathSum& one, double times, PathSum& sum) {
  sum.fixed += one.fixed * times;
  sum.weight.resize(one.weight.size());
  for (std::size_t v = 0; v < one.weight.size(); ++v) {
    sum.weight[v].resize(one.weight[v].size());
    for (std::size_t k = 0; k < one.weight[v].size(); ++k) {
      sum.weight[v][k] += one.weight[v][k] * times;
    }
  }
}

PathWeights best_path_weights(const std::vector<PathSum>& paths, const std::vector<int>& counts,
                              int rounds) {
  return MixGame(paths, counts).run(rounds);
}

}  // namespace pleat
