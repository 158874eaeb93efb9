// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/estimator.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "core/plan/stage_override.hpp"
#include "core/program/compile_stage.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/known.hpp"
#include "simulator/layer_library.hpp"
#include "simulator/plan_key.hpp"
#include "simulator/step_timeline.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {
namespace {

struct TextHash {
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

// Layers and compositions get numbers that stand for them in the keys of what is built on them.
struct Layers {
  int id = 0;
  LayerLibrary library;
};
struct Layout {
  int id = 0;
  std::vector<StageComposition> stages;
};

// Stage 0 has no boundary tensor, and its gradients are cut into buckets (stage_record.cpp).
bool alike(const std::vector<StageComposition>& stages, std::size_t a, std::size_t b) {
  return (a == 0) == (b == 0) && same_layers(stages[a], stages[b]);
}

// The job, and what is known of layers, whatever the layouts that hold them.
struct Job {
  Job(ModelSpec m, WorkloadSpec w, ClusterSpec c, Profile profile, Runtime r)
      : model(std::move(m)),
        workload(std::move(w)),
        cluster(std::move(c)),
        burst(std::move(profile)),
        runtime(r),
        per_token(model_flops_per_token(model, attended_length(workload),
                                        FlopsConvention::bridge)) {}

  const Profile& profile_at(int clock) {
    if (clock == kClockSteps) return burst;
    return profiles.get(clock, [&] { return pleat::at_clock(burst, clock); });
  }

  const ModelSpec model;
  const WorkloadSpec workload;
  const ClusterSpec cluster;
  const Profile burst;
  const Runtime runtime;
  const Flops per_token;
  Known<LayerKey, LayerMemo, KeyHash> memos;  // by the key of their group
  const MemoSource memo_source = [this](const Plan& plan, LayerGroup group) -> LayerMemo& {
    const ClusterView view = view_cluster(cluster, plan);
    return memos.get(layer_key(plan, workload, view, group), [&] {
      return LayerMemo(model, workload, plan, view, runtime);
    });
  };
  Known<int, Profile, std::hash<int>> profiles;
};

}  // namespace

class Estimator::Memory {
 public:
  explicit Memory(std::shared_ptr<Job> job) : job_(std::move(job)) {}

  [[nodiscard]] const std::shared_ptr<Job>& job() const { return job_; }

  // At the clock that the step itself lets the GPU sustain.
  StepEstimate estimate(const Plan& plan) {
    StepEstimate found;
    price(plan, [&](const auto& at_clock) {
      found = at_clock(settled_clock(at_clock), StepDetail::whole);
    });
    return found;
  }

  Limited up_to(Seconds limit, const Plan& plan) {
    Limited found;
    price(plan, [&](const auto& at_clock) {
      int clock = kClockSteps;
      if (slows()) {
        const StepEstimate burst = at_clock(kClockSteps, StepDetail::duty);
        found.least = burst.step;
        if (found.least > limit) return;
        clock = sustained_clock(burst_.sustained_clock, burst);
      }
      found.estimate = at_clock(clock, StepDetail::whole);
      found.least = found.estimate->step;
    });
    return found;
  }

  int clock(const Plan& plan) {
    int found = kClockSteps;
    price(plan, [&](const auto& at_clock) { found = settled_clock(at_clock); });
    return found;
  }

  Seconds step_at(const Plan& plan, int clock) {
    Seconds found;
    price(plan, [&](const auto& at_clock) { found = at_clock(clock, StepDetail::duty).step; });
    return found;
  }

  PlanStages stages(const Plan& plan) {
    const ClusterView view = view_cluster(cluster_, plan);
    Parts parts{plan, view, layers_of(plan, view), layout_of(plan)};
    return {records_at(kClockSteps, parts), table_of(plan)};
  }

  PlanParts parts(const Plan& plan) {
    Layers& layers = layers_of(plan, view_cluster(cluster_, plan));
    const Layout& layout = layout_of(plan);
    return {layers.id, layout.id, &layers.library, &layout.stages};
  }

  void forget_programs() {
    job_->memos.for_each([](LayerMemo& memo) { memo.forget(true); });
  }

  Counts counts() const {
    return {.layers = layers_.size(),
            .memos = job_->memos.size(),
            .stages = records_.size(),
            .schedules = tables_.size()};
  }

 private:
  struct Parts {
    const Plan& plan;
    const ClusterView& view;
    Layers& layers;
    const Layout& layout;
    // The stages that differ, once a clock asked for them.
    struct Differing {
      Differing(const CompiledFrom& from, StageProgram&& stage)
          : program(std::move(stage)), prepared(from, program) {}
      const StageProgram program;
      const PreparedStage prepared;
    };
    std::vector<std::unique_ptr<const Differing>> stages = {};
  };

  // Hands `ask` what prices the plan at a clock.
  template <class Ask>
  void price(const Plan& plan, const Ask& ask) {
    const ClusterView view = view_cluster(cluster_, plan);
    const std::shared_ptr<const ScheduleTable> table = table_of(plan);
    if (!plan.stages.empty()) return price_apart(plan, view, *table, ask);
    Parts parts{plan, view, layers_of(plan, view), layout_of(plan)};
    ask([&](int clock, StepDetail detail) {
      return step_of(plan, *records_at(clock, parts), *table, profile_at(clock), detail);
    });
  }

  // Stages that differ are each a stage of the plan in which all do what it does.
  template <class Ask>
  void price_apart(const Plan& plan, const ClusterView& view, const ScheduleTable& table,
                   const Ask& ask) {
    std::vector<Plan> plans;
    std::vector<std::size_t> of_stage;
    for (int s = 0; s < plan.attention.pp; ++s) {
      Plan own = plan_of_stage(plan, Stage{s});
      const auto known = std::ranges::find(plans, own);
      of_stage.push_back(static_cast<std::size_t>(known - plans.begin()));
      if (known == plans.end()) plans.push_back(std::move(own));
    }
    std::vector<Parts> parts;
    for (const Plan& own : plans) {
      parts.push_back({own, view, layers_of(own, view), layout_of(own)});
    }
    ask([&](int clock, StepDetail detail) {
      std::vector<std::shared_ptr<const StageRecords>> known;
      for (Parts& p : parts) known.push_back(records_at(clock, p));
      StageRecords stages;
      for (std::size_t s = 0; s < of_stage.size(); ++s) stages.push_back((*known[of_stage[s]])[s]);
      return step_of(plan, stages, table, profile_at(clock), detail);
    });
  }

  // Whether busy matrix units lower the clock.
  [[nodiscard]] bool slows() const { return burst_.sustained_clock.duty_slope > 0; }

  template <class AtClock>
  int settled_clock(const AtClock& at_clock) {
    if (!slows()) return kClockSteps;
    return sustained_clock(burst_.sustained_clock, at_clock(kClockSteps, StepDetail::duty));
  }

  Layers& layers_of(const Plan& plan, const ClusterView& view) {
    return layers_.get(layer_key(plan, workload_, view), [&] {
      return Layers{++ids_, {job_->memo_source, cluster_, plan, runtime_}};
    });
  }

  const Layout& layout_of(const Plan& plan) {
    const int text = texts_.get(std::string_view(plan.layout), [&] { return ++ids_; });
    return layouts_.get(layout_key(plan, text), [&] {
      return Layout{++ids_, compose_stages(model_, workload_, plan)};
    });
  }

  std::shared_ptr<const ScheduleTable> table_of(const Plan& plan) {
    const Schedule schedule = schedule_of(plan, workload_);
    return tables_.get(
        schedule_key(schedule),
        [&] {
          // Only cores that ranks share ask what runs when.
          const bool asked = cluster_.shared_cores > 0;
          const TableParts parts = asked ? TableParts::slots : TableParts::timing;
          auto table = std::make_shared<ScheduleTable>(tabulate(schedule, parts));
          table->waits_for_sends = runtime_ == Runtime::megatron;
          return std::shared_ptr<const ScheduleTable>(std::move(table));
        },
        [](const ScheduleTable& table) { return table.walk.size(); });
  }

  const Profile& profile_at(int clock) { return job_->profile_at(clock); }

  std::shared_ptr<const StageRecords> records_at(int clock, Parts& parts) {
    return records_.get(
        record_key(parts.layers.id, parts.layout.id, clock, parts.plan),
        [&] {
          return std::make_shared<const StageRecords>(record(clock, profile_at(clock), parts));
        },
        [](const StageRecords& records) {
          std::size_t pairs = 0;
          for (const auto& stage : records) pairs += stage->costs.pairs.size() + 32;
          return pairs;
        });
  }

  StepEstimate step_of(const Plan& plan, const StageRecords& stages, const ScheduleTable& table,
                       const Profile& profile, StepDetail detail) {
    const StepWork work = step_work(per_token_, workload_, plan, cluster_, profile);
    const bool starts = frees_cores(cluster_, work.ranks, stages.size());
    StepEstimate e =
        summarise(stages, table, run_step(stages, table, starts, detail), work, cluster_, profile,
                  detail);
    if (detail == StepDetail::whole) set_band(e, model_, plan, profile);
    return e;
  }

  StageRecords record(int clock, const Profile& profile, Parts& parts) {
    const CompiledFrom from(model_, workload_, parts.plan, runtime_);
    LayerLibrary& library = parts.layers.library;
    const std::vector<StageComposition>& stages = parts.layout.stages;
    StageRecords records;
    parts.stages.resize(stages.size());
    records.reserve(stages.size());
    std::vector<const LayerCosts*> costs;  // of the layers of a stage
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const auto same = std::find_if(records.begin(), records.end(), [&](const auto& known) {
        return alike(stages, static_cast<std::size_t>(&known - records.data()), s);
      });
      if (same != records.end()) {
        records.push_back(*same);
        continue;
      }
      const std::vector<LayerVariant>& variants = stages[s].variants;
      std::unique_ptr<const Parts::Differing>& stage = parts.stages[s];
      if (!stage) {
        stage = std::make_unique<const Parts::Differing>(
            from, assemble_stage(model_, parts.plan, runtime_, Stage{static_cast<int>(s)},
                                 stages[s],
                                 [&](const LayerVariant& v) { return library.program(v); }));
      }
      costs.clear();
      for (const LayerVariant& v : variants) costs.push_back(&library.costs(v, clock, profile));
      PairSource pair;
      if (parts.plan.overlap.expert_parallel) {
        pair = [&](std::size_t f, std::size_t b) -> const PassCost& {
          return library.pair(variants[f], variants[b], clock, profile);
        };
      }
      records.push_back(std::make_shared<const StageRecord>(
          record_stage(stage->prepared, costs, pair, parts.view, profile)));
    }
    return records;
  }

  const std::shared_ptr<Job> job_;  // of it:
  const ModelSpec& model_ = job_->model;
  const WorkloadSpec& workload_ = job_->workload;
  const ClusterSpec& cluster_ = job_->cluster;
  const Profile& burst_ = job_->burst;
  const Runtime runtime_ = job_->runtime;
  const Flops per_token_ = job_->per_token;
  std::atomic<int> ids_ = 0;
  Known<LayerKey, Layers, KeyHash> layers_;
  Known<std::string, int, TextHash> texts_;
  Known<LayoutKey, Layout, KeyHash> layouts_;
  // Steps: 80 MB, or 240 with TableParts::slots.
  Recent<ScheduleKey, ScheduleTable, KeyHash> tables_{3'000'000};
  Recent<RecordKey, StageRecords, KeyHash> records_{500'000};  // pairs of chunks: 100 MB
};

Estimator::Estimator(ModelSpec model, WorkloadSpec workload, ClusterSpec cluster, Profile profile,
                     Runtime runtime)
    : memory_(std::make_unique<Memory>(
          std::make_shared<Job>(std::move(model), std::move(workload), std::move(cluster),
                                std::move(profile), runtime))) {}
Estimator::Estimator(std::unique_ptr<Memory> memory) : memory_(std::move(memory)) {}
Estimator Estimator::with_layers_of(const Estimator& other) {
  return Estimator(std::make_unique<Memory>(other.memory_->job()));
}
Estimator::~Estimator() = default;

StepEstimate Estimator::operator()(const Plan& plan) const { return memory_->estimate(plan); }

void Estimator::forget_programs() const { memory_->forget_programs(); }


Estimator::Limited Estimator::up_to(Seconds limit, const Plan& plan) const {
  return memory_->up_to(limit, plan);
}

int Estimator::clock(const Plan& plan) const { return memory_->clock(plan); }

Seconds Estimator::step_at(const Plan& plan, int clock) const {
  return memory_->step_at(plan, clock);
}

PlanParts Estimator::parts(const Plan& plan) const { return memory_->parts(plan); }

PlanStages Estimator::stages(const Plan& plan) const { return memory_->stages(plan); }

Estimator::Counts Estimator::counts() const { return memory_->counts(); }

}  // namespace pleat
