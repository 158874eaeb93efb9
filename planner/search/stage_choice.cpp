// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/stage_choice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "core/program/compile_stage.hpp"
#include "planner/bounds/one_choice_bounds.hpp"
#include "planner/bounds/stage_rows.hpp"
#include "planner/search/node_bounds.hpp"
#include "simulator/layer_library.hpp"
#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

constexpr int kMostSteps = 20'000;  // steps timed for one plan

struct Option {
  std::int16_t choice = 0;
  StageRow row;
  StageMemory memory;
};

// Whether `a` is at least as good as `b`: no entry is longer and it uses no more host memory.
bool no_worse(const Option& a, const Option& b) {
  return a.memory.host <= b.memory.host && no_longer(a.row, b.row);
}

class Chooser {
 public:
  Chooser(const PlanTree& tree, const Estimator& estimator, BoundTable& bounds, const Node& node,
          Seconds cutoff, std::int64_t usable, std::int64_t host, int gpus_per_node)
      : tree_(tree),
        estimator_(estimator),
        node_(node),
        usable_(usable),
        host_(host),
        gpus_per_node_(gpus_per_node),
        cutoff_(cutoff),
        plain_(plain_plan(tree, node)),
        bounds_(bounds, plain_, schedule_of(plain_, tree.problem.workload), tree.ways, cutoff),
        plan_(tree.plan_of(node)),
        state_(tree.choices[static_cast<std::size_t>(node.memory)].state),
        stages_(static_cast<std::size_t>(plan_.attention.pp)),
        options_(stages_),
        least_peak_(stages_, std::numeric_limits<std::int64_t>::max()),
        too_slow_(stages_, kAnyTime) {}

  ChosenByStage run() {
    std::vector<std::size_t> all(stages_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto plain = std::ranges::find_if(tree_.choices, [&](const MemoryChoice& c) {
      return c.keeps_activations() && c.state == state_;
    });
    collect(static_cast<std::int16_t>(plain - tree_.choices.begin()), all);
    ChosenByStage found;
    found.compiled = compiled_;
    found.least_peak = *std::ranges::max_element(least_peak_);
    found.left_out = *std::ranges::min_element(too_slow_);
    for (std::size_t s = 0; s < stages_; ++s) {
      if (!options_[s].empty()) continue;
      if (std::isinf(too_slow_[s].base())) found.rule = "memory";
      found.left_out = std::max(found.left_out, too_slow_[s]);
    }
    if (std::ranges::any_of(options_, [](const auto& of) { return of.empty(); })) return found;
    std::vector<std::vector<Option>> every = options_;
    for (auto& of : options_) drop_slower(of);
    bound_rest();
    descend(0);
    const bool none_left_out = std::isinf(found.left_out.base());
    if (chosen_.empty()) {
      if (none_left_out) found.rule = "host-memory";
    } else if (uniform_is_as_fast(every)) {
      if (none_left_out) found.rule = "no-effect";
    } else {
      found.fits = true;
      found.stages = overrides();
    }
    found.cut = timed_ > kMostSteps;
    return found;
  }

 private:
  static Plan plain_plan(const PlanTree& tree, Node node) {
    node.memory = 0;
    return tree.plan_of(node);
  }

  // Collects the choices that fit on `stages`: this one, or where it does not fit those below it,
  // which are no faster.
  void collect(std::int16_t choice, const std::vector<std::size_t>& asked) {
    std::vector<std::size_t> stages, rest;
    bounds_.set(tree_.ways.choices[static_cast<std::size_t>(choice)]);
    for (const std::size_t s : asked) {
      if (const Seconds least = bounds_.step_of_stage(s); least > cutoff_) {
        too_slow_[s] = std::min(too_slow_[s], least);
      } else if (const std::int64_t peak = bounds_.bytes_of_stage(s); peak > usable_) {
        least_peak_[s] = std::min(least_peak_[s], peak);
        rest.push_back(s);
      } else {
        stages.push_back(s);
      }
    }
    if (!stages.empty() && !valid(choice)) {
      std::ranges::move(stages, std::back_inserter(rest));
      stages.clear();
    }
    if (!stages.empty()) {
      ++compiled_;
      const PlanStages known = estimator_.stages(plan_);
      estimator_.parts(plan_).library->forget(true);  // its records are what counts
      const Problem& p = tree_.problem;
      timer_.emplace(known.table,
                     slowest_excess(p.workload, p.profile, p.cluster, plan_.world()));
      for (const std::size_t s : stages) {
        const StageRecord& record = *(*known.records)[s];
        const StageMemory memory =
            stage_memory(Stage{static_cast<int>(s)}, record, known.table->work[s]);
        least_peak_[s] = std::min(least_peak_[s], memory.peak);
        if (memory.peak > usable_) {
          rest.push_back(s);
        } else {
          options_[s].push_back({choice, stage_row(record, *known.table), memory});
        }
      }
    }
    if (rest.empty()) return;
    for (const std::int16_t below : tree_.memory.below(choice)) {
      const MemoryChoice& next = tree_.choices[static_cast<std::size_t>(below)];
      if (next.state == state_ && !next.by_stage) collect(below, rest);
    }
  }

  // Whether the plan with this choice for all stages is valid. Puts the choice into plan_.
  bool valid(std::int16_t choice) {
    Node uniform = node_;
    uniform.memory = choice;
    if (tree_.memory_repeats_another(uniform)) return false;
    tree_.choices[static_cast<std::size_t>(choice)].put_into(plan_);
    return tree_.broken_rule(plan_) == nullptr;
  }

  // Of equally good combinations the first in order stays.
  static void drop_slower(std::vector<Option>& of) {
    std::ranges::sort(of, {}, &Option::choice);
    std::vector<Option> kept;
    for (std::size_t i = 0; i < of.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < of.size(); ++j) {
        if (j == i || !no_worse(of[j], of[i])) continue;
        beaten = beaten || j < i || !no_worse(of[i], of[j]);
      }
      if (!beaten) kept.push_back(of[i]);
    }
    of = std::move(kept);
  }

  void bound_rest() {
    for (const auto& of : options_) {
      least_.push_back(of.front().row);
      for (const Option& o : of) {
        const bool alike = o.row.epilogue.size() == least_.back().epilogue.size();
        bounded_ = bounded_ && alike;
        if (alike) lower(least_.back(), o.row);
      }
    }
    for (const StageRow& row : least_) rows_.push_back(&row);
    path_.resize(stages_);
  }

  void descend(std::size_t stage) {
    if (timed_ > kMostSteps) return;
    if (stage == stages_) {
      if (host_ > 0 && host_bytes() > host_) {
        ++timed_;  // counts as a step: there may be millions of them
        return;
      }
      const Seconds value = step();
      if (!chosen_.empty() && value >= best_) return;
      best_ = value;
      chosen_ = path_;
      return;
    }
    for (const Option& option : options_[stage]) {
      rows_[stage] = &option.row;
      path_[stage] = &option;
      const bool choice = options_[stage].size() > 1;
      if (choice && bounded_ && !chosen_.empty() && step() >= best_) continue;
      descend(stage + 1);
    }
    rows_[stage] = &least_[stage];
  }

  // The end of the step with `rows_`, without the constant that every plan has.
  Seconds step() {
    ++timed_;
    return timer_->step(rows_);
  }

  [[nodiscard]] std::int64_t host_bytes() const {
    std::vector<StageMemory> memory;
    for (const Option* o : path_) memory.push_back(o->memory);
    return fullest_node(memory, plan_.world(), gpus_per_node_);
  }

  // Whether the same choice for all stages is valid and as good; then that is the plan, and not
  // this one.
  bool uniform_is_as_fast(const std::vector<std::vector<Option>>& every) {
    for (const Option& first : every.front()) {
      bool everywhere = true;
      for (std::size_t s = 0; s < stages_; ++s) {
        const auto same = std::ranges::find(every[s], first.choice, &Option::choice);
        everywhere = everywhere && same != every[s].end();
        if (!everywhere) break;
        rows_[s] = &same->row;
        path_[s] = &*same;
      }
      if (!everywhere || (host_ > 0 && host_bytes() > host_)) continue;
      if (step() <= best_) return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<StageOverride> overrides() const {
    std::vector<StageOverride> list;
    for (std::size_t s = 0; s < stages_; ++s) {
      const MemoryChoice& c = tree_.choices[static_cast<std::size_t>(chosen_[s]->choice)];
      if (c.recompute == RecomputeChoice{} && c.offload.empty()) continue;
      list.push_back({.stage = static_cast<int>(s),
                      .recompute = c.recompute.modules,
                      .recompute_full = c.recompute.full,
                      .recompute_layers = c.recompute.layers,
                      .recompute_unit = c.recompute.unit,
                      .offload = c.offload});
    }
    return list;
  }

  const PlanTree& tree_;
  const Estimator& estimator_;
  const Node& node_;
  std::int64_t usable_, host_;
  int gpus_per_node_;
  Seconds cutoff_;
  const Plan plain_;     // gives up nothing
  OneChoiceBounds bounds_;   // of its choices
  Plan plan_;
  StatePlace state_;
  std::size_t stages_;
  std::vector<std::vector<Option>> options_;  // by stage
  std::vector<std::int64_t> least_peak_;      // by stage
  std::vector<Seconds> too_slow_;  // by stage: the least of choices that are above the cutoff
  std::optional<RowTimer> timer_;
  std::vector<StageRow> least_;                    // by stage
  bool bounded_ = true;                       // least_ bounds every option
  std::vector<const StageRow*> rows_;              // by stage: what is timed
  std::vector<const Option*> path_, chosen_;  // by stage
  Seconds best_;
  int timed_ = 0;
  std::int64_t compiled_ = 0;
};

}  // namespace

ChosenByStage choose_by_stage(const PlanTree& tree, const Estimator& estimator, BoundTable& bounds,
                              const Node& node, Seconds cutoff, std::int64_t usable,
                              std::int64_t host, int gpus_per_node) {
  return Chooser(tree, estimator, bounds, node, cutoff, usable, host, gpus_per_node).run();
}

}  // namespace pleat
