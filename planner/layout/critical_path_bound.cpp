// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/critical_path_bound.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "planner/layout/min_max_load.hpp"
#include "planner/layout/slot_paths.hpp"

namespace pleat {
namespace {

constexpr int kRounds = 24;      // in which paths are added
constexpr int kMixRounds = 200;  // of best_path_weights
constexpr int kLastRounds = 2000;
constexpr double kWays = 1.0 / 3;

std::size_t index_of(int i) { return static_cast<std::size_t>(i); }

class PathBound {
 public:
  PathBound(const ScheduleTable& table, const PlacedPieces& pieces, Seconds transfer)
      : table_(table), pieces_(pieces), transfer_(transfer), paths_(table),
        virtual_(virtual_stages(table.shape)) {
    for (const PieceKind& k : pieces.free) counts_.push_back(k.count);
    list_uses();
  }

  Seconds run(Seconds enough) {
    const PathWeights mix = play(enough);
    return mix.bound >= enough ? enough : whole(mix, enough);
  }

  std::vector<PathSum> sums() {
    const PathWeights mix = play(Seconds(std::numeric_limits<double>::infinity()));
    std::vector<PathSum> sums = rounds_.front();
    std::ranges::move(stage_means(mix.weight), std::back_inserter(sums));
    PathSum& mean = sums.emplace_back();
    for (std::size_t i = 0; i < means_.size(); ++i) add(means_[i], mix.weight[i], mean);
    return sums;
  }

 private:
  struct Use {
    std::size_t stage;  // virtual
    PieceUse use;
  };

  PathWeights play(Seconds enough) {
    const std::vector<std::vector<double>> even(
        index_of(virtual_), std::vector<double>(counts_.size(), 1.0 / virtual_));
    add_round(paths_.along_stages(durations(even), transfer_, 0));
    for (int round = 1; round < kRounds; ++round) {
      PathWeights mix = best_path_weights(means_, counts_, kMixRounds);
      if (mix.bound >= enough) return mix;
      add_round(paths_.along_stages(durations(mix.layers), transfer_, kWays));
    }
    return best_path_weights(means_, counts_, kLastRounds);
  }

  void list_uses() {
    const SlotWork work = table_.slot_work();
    uses_.resize(index_of(table_.shape.pp * table_.kinds()));
    for (int s = 0; s < table_.shape.pp; ++s) {
      const auto place = [&](int c) {
        return index_of(virtual_stage(table_.shape, Stage{s}, ChunkId{c}));
      };
      const auto list = [&](int kind) -> std::vector<Use>& {
        return uses_[index_of(s * table_.kinds() + kind)];
      };
      for (int c = 0; c < work.chunks; ++c) {
        const int passes = work.split ? 4 : 2;
        for (int p = 0; p < passes; ++p) {
          list(p * work.chunks + c) = {{place(c), static_cast<PieceUse>(p)}};
        }
        for (int b = 0; table_.paired && b < work.chunks; ++b) {
          list(work.pair(ChunkId{c}, ChunkId{b})) = {{place(c), PieceUse::pair_forward},
                                                     {place(b), PieceUse::pair_backward}};
        }
      }
    }
  }

  // The durations of slots when the layers are placed like this.
  [[nodiscard]] std::vector<Seconds> durations(
      const std::vector<std::vector<double>>& layers) const {
    std::vector<PieceTime> held(index_of(virtual_));
    for (std::size_t u = 0; u < kPieceUses; ++u) {
      held.front().of[u] += pieces_.first.of[u];
      held.back().of[u] += pieces_.last.of[u];
      for (std::size_t v = 0; v < held.size(); ++v) {
        for (std::size_t k = 0; k < counts_.size(); ++k) {
          held[v].of[u] += pieces_.free[k].time.of[u] * (counts_[k] * layers[v][k]);
        }
      }
    }
    std::vector<Seconds> durations;
    for (const std::vector<Use>& slot : uses_) {
      Seconds time;
      for (const Use& use : slot) time += held[use.stage][use.use];
      durations.push_back(time);
    }
    return durations;
  }

  void add_round(const std::vector<SlotPath>& paths) {
    PathSum mean;
    std::vector<PathSum>& sums = rounds_.emplace_back();
    for (const SlotPath& path : paths) {
      sums.push_back(sum_of(path));
      add(sums.back(), 1.0 / static_cast<double>(paths.size()), mean);
    }
    means_.push_back(std::move(mean));
  }

  [[nodiscard]] PathSum sum_of(const SlotPath& path) const {
    PathSum sum{transfer_ * path.transfers, {}};
    sum.weight.assign(index_of(virtual_), std::vector<Seconds>(counts_.size()));
    for (std::size_t i = 0; i < path.times.size(); ++i) {
      if (path.times[i] == 0) continue;
      for (const Use& use : uses_[i]) {
        for (std::size_t k = 0; k < counts_.size(); ++k) {
          sum.weight[use.stage][k] += pieces_.free[k].time[use.use] * path.times[i];
        }
        if (use.stage == 0) sum.fixed += pieces_.first[use.use] * path.times[i];
        if (use.stage + 1 == index_of(virtual_)) sum.fixed += pieces_.last[use.use] * path.times[i];
      }
    }
    return sum;
  }

  // The bound for whole layers, from the mean path of each pipeline stage.
  [[nodiscard]] Seconds whole(const PathWeights& mix, Seconds enough) const {
    if (table_.shape.kind == PipelineSchedule::dualpipe) {
      return std::min(mix.bound, enough);  // two ranks hold a layer
    }
    std::vector<double> first(rounds_.size());  // all of each stage's slots: tells loads apart best
    first.front() = 1;
    std::vector<RankLoad> loads = loads_of(first);
    std::ranges::move(loads_of(mix.weight), std::back_inserter(loads));
    return min_max_load(loads, counts_, mix.bound, enough);
  }

  // The mean of each stage's paths, with a weight for each round.
  [[nodiscard]] std::vector<PathSum> stage_means(const std::vector<double>& weight) const {
    std::vector<PathSum> means(index_of(table_.shape.pp));
    for (std::size_t s = 0; s < means.size(); ++s) {
      for (std::size_t i = 0; i < rounds_.size(); ++i) add(rounds_[i][s], weight[i], means[s]);
    }
    return means;
  }

  [[nodiscard]] std::vector<RankLoad> loads_of(const std::vector<double>& weight) const {
    std::vector<RankLoad> loads;
    for (const PathSum& mean : stage_means(weight)) {
      RankLoad& load = loads.emplace_back(RankLoad{mean.fixed, {}});
      for (int r = 0; r < table_.shape.pp; ++r) {
        std::vector<Seconds>& least = load.weight.emplace_back(
            counts_.size(), Seconds(std::numeric_limits<double>::infinity()));
        for (int c = 0; c < chunks_of_stage(table_.shape); ++c) {
          const auto v = index_of(virtual_stage(table_.shape, Stage{r}, ChunkId{c}));
          for (std::size_t k = 0; k < counts_.size(); ++k) {
            least[k] = std::min(least[k], mean.weight[v][k]);
          }
        }
      }
    }
    return loads;
  }

  const ScheduleTable& table_;
  const PlacedPieces& pieces_;
  Seconds transfer_;
  SlotPaths paths_;
  int virtual_;
  std::vector<int> counts_;                   // by kind
  std::vector<std::vector<Use>> uses_;        // [stage * kinds() + SlotWork]
  std::vector<std::vector<PathSum>> rounds_;  // [round][stage]
  std::vector<PathSum> means_;                // by round
};

}  // namespace

std::vector<PathSum> bounding_paths(const ScheduleTable& table, const PlacedPieces& pieces,
                                    Seconds transfer) {
  return PathBound(table, pieces, transfer).sums();
}

Seconds critical_path_bound(const ScheduleTable& table, const PlacedPieces& pieces,
                            Seconds transfer, Seconds enough) {
  return PathBound(table, pieces, transfer).run(enough);
}

}  // namespace pleat
