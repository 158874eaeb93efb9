// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout_search.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <unordered_map>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/stage_override.hpp"
#include "core/program/compile_stage.hpp"
#include "planner/stage_rows.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

constexpr int kMostLayouts = 20'000;  // that are timed for one plan
// Layouts that take so much longer at the burst clock may sustain a higher one: so many are priced.
constexpr double kSlack = 0.01;
constexpr std::size_t kPriced = 16;

// The model is a row of pieces: decoder layers, multi-token prediction, loss. Stage s holds pieces
// [cuts[s], cuts[s + 1]); the embedding is on the first, which may hold no piece.
using Cuts = std::vector<int>;

struct Timed {
  Seconds step;
  Cuts cuts;
};

struct StageOption {
  bool valid = false;  // it was priced, and fits
  Seconds busy;        // prologue, slots and epilogue
  StageRow row;
  StageMemory memory;
};

class LayoutSearch {
 public:
  LayoutSearch(const Estimator& estimator, const ModelSpec& model, const WorkloadSpec& workload,
               const SearchConfig& config, const MemoryLimits& limits, const Plan& plan)
      : estimator_(estimator),
        model_(model),
        workload_(workload),
        config_(config),
        limits_(limits),
        plan_(plan),
        stages_(plan.attention.pp),
        layers_(static_cast<int>(model.layers)),
        pieces_(layers_ + (model.mtp_layers > 0 ? 1 : 0) + 1) {}

  // False: others than those found may be faster.
  bool run() {
    const Cuts own = cuts_of(stage_layout(plan_, model_));
    if (own.empty() || !price(own)) return false;
    std::vector<const StageRow*> rows;
    for (int s = 0; s < stages_; ++s) {
      const StageOption& option = option_of(s, own[at(s)], own[at(s + 1)]);
      if (!option.valid) return false;
      rows.push_back(&option.row);
    }
    best_ = timer_->step(rows);
    own_ = own;
    cuts_.assign(at(stages_ + 1), 0);
    cuts_.back() = pieces_;
    reachable_.assign(at(stages_), std::vector<signed char>(at(pieces_ + 1), -1));
    if (find_windows()) descend(0, rows);
    return !cut_ && timed_ <= kMostLayouts;
  }

  // Valid ones that are hardly slower than the fastest, that first.
  [[nodiscard]] std::vector<Cuts> found() const {
    std::vector<Cuts> cuts;
    for (const Timed& t : found_) {
      if (t.step <= best_ * (1 + kSlack)) cuts.push_back(t.cuts);
    }
    return cuts;
  }

  [[nodiscard]] Plan with(const Cuts& cuts) const {
    Plan plan = plan_;
    plan.layout = to_layout_string(stages_of(cuts));
    return plan;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  // Nothing if a stage but the first holds no piece.
  [[nodiscard]] Cuts cuts_of(const std::vector<VirtualStage>& stages) const {
    Cuts cuts{0};
    for (const VirtualStage& s : stages) {
      const int pieces = static_cast<int>(s.layers) + (s.mtp ? 1 : 0) + (s.loss ? 1 : 0);
      if (pieces == 0 && cuts.size() > 1) return {};
      cuts.push_back(cuts.back() + pieces);
    }
    return cuts;
  }

  [[nodiscard]] std::vector<VirtualStage> stages_of(const Cuts& cuts) const {
    std::vector<VirtualStage> stages;
    for (int s = 0; s < stages_; ++s) {
      const int first = std::min(cuts[at(s)], layers_), end = std::min(cuts[at(s + 1)], layers_);
      stages.push_back({.embedding = s == 0,
                        .first_layer = first,
                        .layers = end - first,
                        .mtp = pieces_ > layers_ + 1 && cuts[at(s)] <= layers_ &&
                               cuts[at(s + 1)] > layers_,
                        .loss = s + 1 == stages_});
    }
    return stages;
  }

  // Every stage after the first holds something.
  [[nodiscard]] int first_cut(int stage) const { return std::max(0, stage - 1); }
  [[nodiscard]] int last_cut(int stage) const {
    return stage == 0 ? 0 : pieces_ - (stages_ - stage);
  }

  // A layout in which the stage holds these pieces, the others about as much each.
  [[nodiscard]] Cuts around(int stage, int first, int end) const {
    Cuts cuts(at(stages_ + 1));
    for (int s = 0; s <= stage; ++s) cuts[at(s)] = stage == 0 ? 0 : first * s / stage;
    const int after = stages_ - 1 - stage;
    for (int s = 0; s <= after; ++s) {
      cuts[at(stage + 1 + s)] = after == 0 ? end : end + (pieces_ - end) * s / after;
    }
    return cuts;
  }

  static std::int64_t key(int stage, int first, int end) {
    return (std::int64_t{stage} << 40) | (std::int64_t{first} << 20) | end;
  }

  // The stages of a layout. False: it breaks a rule.
  bool price(const Cuts& cuts) {
    const Plan plan = with(cuts);
    if (!violations({model_, workload_, plan, config_.gpus}).empty()) return false;
    for (int s = 0; s < stages_; ++s) {
      const auto [entry, fresh] =
          options_.try_emplace(key(s, cuts[at(s)], cuts[at(s + 1)]));
      if (!fresh && entry->second.valid) continue;
      const PlanStages priced =
          estimator_.stages(plan.stages.empty() ? plan : plan_of_stage(plan, Stage{s}));
      if (!timer_) {
        table_ = priced.table;
        timer_.emplace(priced.table, workload_.straggler_slowdown);
      }
      entry->second = option(s, *(*priced.records)[at(s)]);
    }
    return true;
  }

  [[nodiscard]] StageOption option(int stage, const StageRecord& record) const {
    StageOption o{.valid = false, .busy = {}, .row = stage_row(record, *table_),
                  .memory = stage_memory(Stage{stage}, record, table_->work[at(stage)])};
    o.busy = o.row.prologue;
    for (std::size_t i = 0; i < o.row.slots.size(); ++i) {
      o.busy += o.row.slots[i] * table_->times[at(stage)][i];
    }
    for (const StepOpCost& op : o.row.epilogue) o.busy += op.exposed;
    o.valid = o.memory.peak <= limits_.usable;
    return o;
  }

  const StageOption& option_of(int stage, int first, int end) {
    const auto known = options_.find(key(stage, first, end));
    if (known != options_.end()) return known->second;
    // A rule may be another stage's.
    if (!price(around(stage, first, end))) cut_ = true;
    return options_[key(stage, first, end)];
  }

  bool possible(int stage, int first, int end) {
    const StageOption& o = option_of(stage, first, end);
    return o.valid && o.busy < best_ * (1 + kSlack);
  }

  // Between which pieces each stage may begin: a part of what a stage can hold it can hold too.
  // False: no layout is faster.
  bool find_windows() {
    low_.assign(at(stages_), 0);
    high_.assign(at(stages_), 0);
    for (int s = 0; s + 1 < stages_; ++s) {
      const int first = high_[at(s)], most = last_cut(s + 1);
      int end = std::min(most, first + own_[at(s + 1)] - own_[at(s)]);
      while (end > first && !possible(s, first, end)) --end;
      while (end < most && possible(s, first, end + 1)) ++end;
      if (end == first && s > 0) return false;
      high_[at(s + 1)] = end;
    }
    for (int s = stages_ - 1; s > 0; --s) {
      const int end = s + 1 == stages_ ? pieces_ : low_[at(s + 1)], least = first_cut(s);
      int first = std::max(least, end - own_[at(s + 1)] + own_[at(s)]);
      while (first < end && !possible(s, first, end)) ++first;
      while (first > least && possible(s, first - 1, end)) --first;
      if (first >= end || first > high_[at(s)]) return false;
      low_[at(s)] = first;
    }
    return true;
  }

  // Whether the pieces from `first` on can be held by this stage and those after it.
  bool reachable(int stage, int first) {
    signed char& known = reachable_[at(stage)][at(first)];
    if (known < 0) {
      known = 0;
      for_each_end(stage, first, [&](int end) {
        known = known != 0 || (possible(stage, first, end) &&
                               (stage + 1 == stages_ || reachable(stage + 1, end)));
      });
    }
    return known != 0;
  }

  // Where the stage may end, those next to the given plan's first.
  template <class Visit>
  void for_each_end(int stage, int first, const Visit& visit) const {
    if (stage + 1 == stages_) {
      visit(pieces_);
      return;
    }
    const int low = std::max(low_[at(stage + 1)], stage == 0 ? 0 : first + 1);
    const int high = high_[at(stage + 1)], near = own_[at(stage + 1)];
    const int furthest = std::max(std::abs(near - low), std::abs(near - high));
    for (int away = 0; away <= furthest; ++away) {
      if (near + away >= low && near + away <= high) visit(near + away);
      if (away > 0 && near - away >= low && near - away <= high) visit(near - away);
    }
  }

  void descend(int stage, std::vector<const StageRow*>& rows) {
    if (timed_ > kMostLayouts) return;
    if (stage == stages_) {
      ++timed_;
      take(timer_->step(rows));
      return;
    }
    const int first = cuts_[at(stage)];
    for_each_end(stage, first, [&](int end) {
      if (!possible(stage, first, end)) return;
      if (stage + 1 < stages_ && !reachable(stage + 1, end)) return;
      if (stage + 1 < stages_) cuts_[at(stage + 1)] = end;
      rows[at(stage)] = &option_of(stage, first, end).row;
      descend(stage + 1, rows);
    });
  }

  void take(Seconds step) {
    if (step > best_ * (1 + kSlack)) return;
    if (found_.size() == kPriced && step >= found_.back().step) return;
    if (!allowed()) return;
    best_ = std::min(best_, step);
    found_.insert(std::ranges::upper_bound(found_, step, {}, &Timed::step), {step, cuts_});
    if (found_.size() > kPriced) found_.pop_back();
  }

  // The layout at hand, by the rules and by host memory.
  bool allowed() {
    if (!violations({model_, workload_, with(cuts_), config_.gpus}).empty()) return false;
    if (limits_.host == 0) return true;
    std::vector<StageMemory> memory;
    for (int s = 0; s < stages_; ++s) {
      memory.push_back(option_of(s, cuts_[at(s)], cuts_[at(s + 1)]).memory);
    }
    return fullest_node(memory, plan_.world(), limits_.gpus_per_node) <= limits_.host;
  }

  const Estimator& estimator_;
  const ModelSpec& model_;
  const WorkloadSpec& workload_;
  const SearchConfig& config_;
  const MemoryLimits& limits_;
  const Plan& plan_;
  int stages_, layers_, pieces_;
  std::shared_ptr<const ScheduleTable> table_;
  std::optional<RowTimer> timer_;
  std::unordered_map<std::int64_t, StageOption> options_;  // references stay valid
  Cuts own_, cuts_;                                        // the given plan's; at hand
  std::vector<int> low_, high_;                            // of each stage's first piece
  std::vector<std::vector<signed char>> reachable_;        // [stage][first piece]; -1: not known
  Seconds best_;
  std::vector<Timed> found_;  // fastest first
  bool cut_ = false;  // some stage could not be priced
  int timed_ = 0;
};

}  // namespace

FoundLayout best_layout(const Estimator& estimator, const ModelSpec& model,
                        const WorkloadSpec& workload, const SearchConfig& config,
                        const MemoryLimits& limits, Candidate from) {
  const Schedule order = schedule_of(from.plan, workload);
  if (from.plan.attention.pp == 1 || chunks_of_stage(order) > 1) return {std::move(from), false};
  LayoutSearch layouts(estimator, model, workload, config, limits, from.plan);
  FoundLayout result{.best = from, .every = layouts.run()};
  for (const Cuts& cuts : layouts.found()) {
    Candidate better{layouts.with(cuts), {}};
    better.estimate = estimator(better.plan);
    if (better.estimate.peak_bytes() > limits.usable) continue;
    if (value_of(better.estimate, config.robust) < value_of(result.best.estimate, config.robust)) {
      result.best = std::move(better);
    }
  }
  return result;
}

}  // namespace pleat
