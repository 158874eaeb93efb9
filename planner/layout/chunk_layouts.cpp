// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/chunk_layouts.hpp"

#include <algorithm>
#include <limits>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/program/compile_stage.hpp"
#include "planner/layout/layout_pieces.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

constexpr int kMostLayoutNodes = 50'000;
constexpr std::size_t kMostPriced = 500;
constexpr std::size_t kMostSlots =
    2'000'000;                      // over all priced layouts: long pipelines take longer
constexpr std::size_t kPriced =
    8;  // how many of the fastest at the burst clock are priced at their own clock

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class ChunkLayouts {
 public:
  ChunkLayouts(const Problem& p, const Profile& burst, const SearchConfig& config,
               const MemoryLimits& limits, const Plan& plan)
      : problem_(p), config_(config), limits_(limits), plan_(plan),
        burst_(p.model, p.workload, p.cluster, burst, config.runtime),
        overhead_(p.profile.step_overhead),
        stretch_((1 + slowest_excess(p.workload, p.profile, p.cluster, plan.world())) *
                 least_share(p.cluster, plan.world(), at(plan.attention.pp))),
        stages_(stage_layout(plan, p.model)) {
    const Plan like = with_like_layers(plan);
    const LayoutPieces pieces = pieces_of(p.model, p.workload, like, burst_.parts(like), burst);
    const ScheduleTable table = tabulate(schedule_of(plan, p.workload));
    most_priced_ = std::min(kMostPriced, kMostSlots / table.steps.size() + 1);
    paths_ = bounding_paths(table, pieces.pieces, pieces.transfer);
    kinds_ = pieces.kinds;
    // All prediction depths together are one unit.
    units_ = static_cast<int>(p.model.layers) + (p.model.mtp_layers > 0 ? 1 : 0);
    for (const VirtualStage& s : stages_) {
      own_.push_back(static_cast<int>(s.layers) + (s.mtp ? 1 : 0));
    }
    sum_rests(pieces.pieces.free.size());
  }

  // False: there may be faster ones than those found.
  bool run() {
    best_ = burst_(plan_).step;
    held_.assign(stages_.size(), 0);
    std::vector<Seconds> placed;
    for (const PathSum& p : paths_) placed.push_back(p.fixed);
    descend(0, 0, placed);
    return nodes_ <= kMostLayoutNodes && priced_ <= most_priced_;
  }

  [[nodiscard]] const std::vector<Plan>& found() const { return found_; }  // the fastest last

 private:
  // For each path: the least that a piece of each kind adds on any of the virtual stages from v on.
  void sum_rests(std::size_t kinds) {
    for (const PathSum& p : paths_) {
      auto& rest = rests_.emplace_back(p.weight);
      for (std::size_t v = rest.size() - 1; v-- > 0;) {
        for (std::size_t k = 0; k < kinds; ++k) rest[v][k] = std::min(rest[v][k], rest[v + 1][k]);
      }
    }
    left_.assign(at(units_ + 1), std::vector<int>(kinds));
    for (int u = units_ - 1; u >= 0; --u) {
      left_[at(u)] = left_[at(u + 1)];
      for_each_piece(u, [&](std::size_t kind) { ++left_[at(u)][kind]; });
    }
  }

  template <class Visit>
  void for_each_piece(int unit, const Visit& visit) const {
    const std::size_t end = unit + 1 == units_ ? kinds_.size() : at(unit + 1);
    for (std::size_t i = at(unit); i < end; ++i) visit(kinds_[i]);
  }

  // Whether a layout that starts like this one, with the units from `unit` on for the stages from v
  // on, can be faster than the best.
  [[nodiscard]] bool promising(std::size_t v, int unit, const std::vector<Seconds>& placed) const {
    const Seconds most = (best_ - overhead_) / stretch_ * (1 - 1e-9);
    for (std::size_t p = 0; p < paths_.size(); ++p) {
      Seconds sum = placed[p];
      for (std::size_t k = 0; v < stages_.size() && k < left_[at(unit)].size(); ++k) {
        sum += rests_[p][v][k] * left_[at(unit)][k];
      }
      if (sum >= most) return false;
    }
    return true;
  }

  void descend(std::size_t v, int first, const std::vector<Seconds>& placed) {
    if (nodes_ > kMostLayoutNodes || priced_ > most_priced_) return;
    ++nodes_;
    if (v == stages_.size()) {
      price();
      return;
    }
    const int left = units_ - first;
    const bool last = v + 1 == stages_.size();
    for (int away = 0; away <= units_; ++away) {
      for (const int side : {-1, 1}) {
        const int held = last ? left : own_[v] + side * away;
        if (held < 0 || held > left || (away == 0 && side > 0)) continue;
        std::vector<Seconds> next = placed;
        for (int u = first; u < first + held; ++u) {
          for_each_piece(u, [&](std::size_t kind) {
            for (std::size_t p = 0; p < paths_.size(); ++p) next[p] += paths_[p].weight[v][kind];
          });
        }
        held_[v] = held;
        if (promising(v + 1, first + held, next)) descend(v + 1, first + held, next);
        if (last) return;
      }
    }
  }

  void price() {
    std::vector<VirtualStage> stages = stages_;
    const int layers = static_cast<int>(problem_.model.layers);
    int unit = 0;
    for (std::size_t v = 0; v < stages.size(); ++v) {
      const int end = unit + held_[v];
      stages[v].first_layer = std::min(unit, layers);
      stages[v].layers = std::min(end, layers) - stages[v].first_layer;
      stages[v].mtp = end > layers && unit <= layers;
      unit = end;
    }
    Plan plan = plan_;
    plan.layout = to_layout_string(stages);
    if (!violations({problem_.model, problem_.workload, plan, config_.gpus}).empty()) return;
    if (!builds_layout(config_.runtime, problem_.model, plan)) return;
    ++priced_;
    const StepEstimate e = burst_(plan);
    if (e.step >= best_ || e.peak_bytes() > limits_.usable) return;
    if (limits_.host > 0 && e.host_bytes > limits_.host) return;
    best_ = e.step;
    found_.push_back(std::move(plan));
  }

  const Problem& problem_;
  const SearchConfig& config_;
  const MemoryLimits& limits_;
  const Plan& plan_;
  Estimator burst_;
  Seconds overhead_;
  double stretch_;
  std::vector<VirtualStage> stages_;  // of the given plan
  std::vector<int> own_, held_;       // units of each virtual stage: the given plan's; at hand
  std::vector<PathSum> paths_;
  std::vector<std::size_t> kinds_;    // of pieces
  int units_ = 0;
  std::vector<std::vector<std::vector<Seconds>>> rests_;  // [path][virtual stage][kind]
  std::vector<std::vector<int>> left_;                    // [unit][kind], from it on
  Seconds best_;
  std::vector<Plan> found_;
  int nodes_ = 0;
  std::size_t priced_ = 0, most_priced_ = kMostPriced;
};

}  // namespace

FoundLayout best_chunk_layout(const Problem& problem, const SearchConfig& config,
                              const MemoryLimits& limits, Candidate from) {
  const Plan& plan = from.plan;
  if (plan.attention.pp == 1 || plan.schedule != PipelineSchedule::one_f_one_b) {
    return {std::move(from), false};
  }
  Profile burst = problem.profile;
  burst.sustained_clock.duty_slope = 0;
  ChunkLayouts layouts(problem, burst, config, limits, plan);
  FoundLayout result{.best = from, .every = layouts.run()};
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            config.runtime);
  std::size_t count = 0;
  for (auto p = layouts.found().rbegin(); p != layouts.found().rend() && count < kPriced; ++p) {
    Candidate better{*p, estimator(*p)};
    ++count;
    if (better.estimate.peak_bytes() > limits.usable) continue;
    if (value_of(better.estimate, config.robust) < value_of(result.best.estimate, config.robust)) {
      result.best = std::move(better);
    }
  }
  return result;
}

}  // namespace pleat
