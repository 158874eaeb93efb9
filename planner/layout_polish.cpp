// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout_polish.hpp"

#include <algorithm>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/program/pipeline_order.hpp"
#include "planner/bounds.hpp"
#include "planner/parallel_rounds.hpp"
#include "simulator/estimator.hpp"

namespace pleat {
namespace {

constexpr int kMostMoves = 64;
constexpr int kFewStages = 16;  // every pair of them may exchange a layer

int stages_of(const Plan& plan) { return plan.attention.pp * plan.vpp; }

class LayoutPolish {
 public:
  LayoutPolish(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
               const Profile& profile, const SearchConfig& config)
      : model_(model),
        workload_(workload),
        config_(config),
        estimator_(model, workload, cluster, profile, config.runtime),
        bounds_(estimator_, model, workload, cluster, profile, config.runtime),
        usable_(usable_bytes(cluster, config)),
        host_(static_cast<std::int64_t>(cluster.host_memory.base())) {}

  Candidate run(Candidate best) const {
    if (best.plan.attention.pp == 1 || !config_.layout.empty()) return best;
    for (int move = 0; move < kMostMoves; ++move) {
      auto better = best_move(best, true);
      if (!better && stages_of(best.plan) <= kFewStages) better = best_move(best, false);
      if (!better) break;
      best = *better;
    }
    return best;
  }

 private:
  [[nodiscard]] std::optional<Candidate> best_move(const Candidate& from,
                                                   bool off_busiest) const {
    const std::vector<VirtualStage> stages = stage_layout(from.plan, model_);
    const Schedule order{.pp = from.plan.attention.pp,
                         .vpp = from.plan.vpp,
                         .kind = from.plan.schedule};
    const std::vector<bool> busy = stages_on(order, busiest_rank(from.estimate));
    std::optional<Candidate> best;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      if ((off_busiest && !busy[i]) || stages[i].layers == 0) continue;
      for (std::size_t j = 0; j < stages.size(); ++j) {
        if (j == i || (off_busiest && busy[j])) continue;
        Candidate moved{from.plan, {}};
        moved.plan.layout = to_layout_string(with_move(stages, i, j));
        if (!violations({model_, workload_, moved.plan, config_.gpus}).empty()) continue;
        const StepEstimate& so_far = (best ? *best : from).estimate;
        const Seconds bar = value_of(so_far, config_.robust);
        // Most moves burden another rank as much: their bound tells, and costs less than the price.
        if (bounds_.own(moved.plan, so_far.step).step > so_far.step) continue;
        moved.estimate = estimator_(moved.plan);
        if (moved.estimate.peak_bytes() > usable_) continue;
        if (host_ > 0 && moved.estimate.host_bytes > host_) continue;
        if (value_of(moved.estimate, config_.robust) < bar) best = std::move(moved);
      }
    }
    return best;
  }

  [[nodiscard]] static Stage busiest_rank(const StepEstimate& e) {
    return std::ranges::max_element(e.stages, {}, &StageTime::busy)->stage;
  }

  // Which virtual stages the rank holds.
  static std::vector<bool> stages_on(const Schedule& order, Stage rank) {
    std::vector<bool> held(static_cast<std::size_t>(virtual_stages(order)));
    for (int c = 0; c < chunks_of_stage(order); ++c) {
      held[static_cast<std::size_t>(virtual_stage(order, rank, ChunkId{c}))] = true;
    }
    return held;
  }

  static std::vector<VirtualStage> with_move(std::vector<VirtualStage> stages, std::size_t from,
                                             std::size_t to) {
    --stages[from].layers;
    ++stages[to].layers;
    std::int64_t first = 0;
    for (VirtualStage& s : stages) {
      s.first_layer = first;
      first += s.layers;
    }
    return stages;
  }

  const ModelSpec& model_;
  const WorkloadSpec& workload_;
  const SearchConfig& config_;
  Estimator estimator_;
  mutable BoundTable bounds_;  // locks for itself
  std::int64_t usable_;
  std::int64_t host_;  // bytes of a node; 0: unknown
};

}  // namespace

Candidate polish_layout(const ModelSpec& model, const ClusterSpec& cluster,
                        const WorkloadSpec& workload, const Profile& profile,
                        const SearchConfig& config, Candidate plan) {
  return LayoutPolish(model, cluster, workload, profile, config).run(std::move(plan));
}

void polish_layouts(const ModelSpec& model, const ClusterSpec& cluster,
                    const WorkloadSpec& workload, const Profile& profile,
                    const SearchConfig& config, SearchResult& result) {
  const LayoutPolish polish(model, cluster, workload, profile, config);
  for_each_in_parallel(result.best.size(), thread_count(config.threads), [&](std::size_t i) {
    result.best[i] = polish.run(std::move(result.best[i]));
  });
  std::ranges::stable_sort(result.best, {}, [&](const Candidate& c) {
    return value_of(c.estimate, config.robust);
  });
  if (result.best.empty()) return;
  const Seconds best = value_of(result.best.front().estimate, config.robust);
  result.bound = std::min(result.bound, best);
}

}  // namespace pleat
