// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/step_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/plan/numerics.hpp"
#include "core/program/compile_stage.hpp"
#include "simulator/core_sharing.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {

std::vector<Seconds> slot_durations(const StageRecords& stages, const ScheduleTable& table) {
  std::vector<Seconds> durations;
  durations.reserve(stages.size() * static_cast<std::size_t>(table.kinds()));
  for (const auto& stage : stages) {
    stage->costs.for_each(table.paired,
                          [&](const PassCost& cost) { durations.push_back(cost.time); });
  }
  return durations;
}

StageRecords record_stages(const Program& program, const ClusterView& view,
                           const Profile& profile) {
  const LayerRows rows(program.model, program.workload, program.plan);
  StageRecords records;
  for (const StageProgram& stage : program.stages) {
    std::vector<LayerCosts> layers;
    layers.reserve(stage.layers.size());
    for (const LayerProgram& layer : stage.layers) {
      const Binding routed = rows.of(layer);
      layers.push_back(price(layer, routed, routed, view, profile));
    }
    std::vector<const LayerCosts*> costs;
    costs.reserve(layers.size());
    for (const LayerCosts& layer : layers) costs.push_back(&layer);
    PairSource pair;
    std::map<std::pair<std::size_t, std::size_t>, PassCost> known;
    if (program.plan.overlap.expert_parallel) {
      pair = [&](std::size_t f, std::size_t b) -> const PassCost& {
        const auto [found, fresh] = known.try_emplace({f, b});
        if (fresh) {
          found->second =
              price_pair(stage.layers[f], stage.layers[b],
                         {rows.of(stage.layers[f]), rows.of(stage.layers[b])}, view, profile,
                         program.plan.overlap.delay_wgrad);
        }
        return found->second;
      };
    }
    records.push_back(std::make_shared<const StageRecord>(
        record_stage({program, stage}, costs, pair, view, profile)));
  }
  return records;
}

ScheduleTable table_of(const Program& program) {
  std::vector<std::vector<Slot>> orders;
  for (const StageProgram& stage : program.stages) orders.push_back(stage.order);
  ScheduleTable table = tabulate(schedule_of(program.plan, program.workload), std::move(orders));
  table.waits_for_sends = program.runtime == Runtime::megatron;
  return table;
}

StepTimeline run_step(const StageRecords& stages, const ScheduleTable& table, bool keep_starts,
                      StepDetail detail) {
  StepTimeline step;
  Seconds transfer;
  for (const auto& stage : stages) {
    Seconds prologue;
    for (const StepOpCost& op : stage->prologue) prologue += op.exposed;
    step.prologue.push_back(prologue);
    transfer = std::max(transfer, stage->transfer);
  }
  const std::vector<Seconds> durations = slot_durations(stages, table);
  const bool both = detail == StepDetail::whole && table.shape.pp > 1;
  step.pipeline = time_table(table, durations, step.prologue, transfer,
                             {.starts = keep_starts, .end_without_transfer = both});
  std::vector<const std::vector<StepOpCost>*> epilogues;
  for (const auto& stage : stages) epilogues.push_back(&stage->epilogue);
  step.step_end = finish_step(epilogues, step.pipeline.finish, keep_starts);
  return step;
}

namespace {

Seconds& part(CostVector& parts, CostClass cls) { return parts[static_cast<std::size_t>(cls)]; }

Seconds sum(const CostVector& parts) {
  Seconds total;
  for (Seconds s : parts) total += s;
  return total;
}

// Everything but the bubble: how often each chunk or pair of chunks runs, times its parts.
CostVector busy_parts(const StageRecord& stage, bool paired,
                      const std::vector<std::int32_t>& times) {
  CostVector parts{};
  auto count = times.begin();
  stage.costs.for_each(paired, [&](const PassCost& cost) {
    const std::int32_t n = *count++;
    if (n == 0) return;
    for (std::size_t k = 0; k < kCostClasses; ++k) parts[k] += cost.parts[k] * n;
  });
  for (const auto* ops : {&stage.prologue, &stage.epilogue}) {
    for (const StepOpCost& op : *ops) part(parts, op.cost.cls) += op.exposed;
  }
  return parts;
}

void set_throughput(StepEstimate& e, const StepWork& work) {
  e.tokens_per_second = static_cast<double>(work.tokens) / e.step.base();
  e.tokens_per_second_per_gpu = e.tokens_per_second / work.ranks;
  e.model_flops_per_gpu = FlopsPerSecond(work.per_token.base() * e.tokens_per_second_per_gpu);
  if (work.peak > FlopsPerSecond(0)) e.mfu = e.model_flops_per_gpu / work.peak;
  if (work.product_peak > FlopsPerSecond(0)) {
    e.mfu_of_precision = e.model_flops_per_gpu / work.product_peak;
  }
  e.products = work.products;
}

// The step with the cores that waiting ranks leave to others. What it consists of shrinks alike.
void share_cores(StepEstimate& e, const CoreSharing& sharing) {
  const Seconds step = sharing(e.step);
  const double share = step / e.step;
  e.step = step;
  for (Seconds& part : e.parts) part *= share;
  for (auto& stage : e.stages) {
    stage.busy *= share;
    stage.bubble *= share;
  }
}

// Idle time is a difference of sums of many slots; rounded to just below zero it is none.
Seconds without_rounding(Seconds idle, Seconds step) {
  PLEAT_ASSERT(idle >= -1e-9 * step);
  return std::max(Seconds(0), idle);
}

Seconds matrix_time(const CostVector& parts) {
  Seconds time;
  for (CostClass cls : {CostClass::gemm, CostClass::grouped_gemm, CostClass::attention}) {
    time += parts[static_cast<std::size_t>(cls)];
  }
  return time;
}

}  // namespace

StepWork step_work(Flops per_token, const WorkloadSpec& workload, const Plan& plan,
                   const ClusterSpec& cluster, const RunConstants& run) {
  const bool fp32 =
      plan.precision == Precision::fp32 || cluster.gpu.peak_bf16 <= FlopsPerSecond(0);
  const int ranks = plan.world();
  const DType products = product_type(plan.precision);
  FlopsPerSecond peak = fp32 ? cluster.gpu.peak_fp32 : cluster.gpu.peak_bf16;
  FlopsPerSecond product_peak = usable_peak(cluster.gpu, products);
  // Ranks that share cores share their peak.
  if (cluster.shared_cores > 0 && ranks > cluster.shared_cores) {
    const double share = static_cast<double>(cluster.shared_cores) / ranks;
    peak *= share;
    product_peak *= share;
  }
  return {.tokens = workload.global_batch * workload.seq_len,
          .ranks = ranks,
          .per_token = per_token,
          .peak = peak,
          .product_peak = product_peak,
          .products = products,
          .slowest_excess = slowest_excess(workload, run, cluster, ranks)};
}

double slowest_excess(const WorkloadSpec& workload, const RunConstants& run,
                      const ClusterSpec& cluster, int gpus) {
  const double hosts = static_cast<double>(gpus) / std::max(1, cluster.gpus_per_node);
  const double more = std::max(1.0, hosts / run.slowest_host_from);
  return workload.straggler_slowdown + run.slowest_host * std::log(more);
}

StepEstimate summarise(const StageRecords& stages, const ScheduleTable& table,
                       const StepTimeline& step, const StepWork& work, const ClusterSpec& cluster,
                       const Profile& profile, StepDetail detail) {
  StepEstimate e;
  Seconds end;
  for (Seconds stage_end : step.step_end.end) end = std::max(end, stage_end);
  // Everyone waits for the slowest rank's slots.
  const Seconds straggling = step.pipeline.end * work.slowest_excess;
  e.step = end + profile.step_overhead + straggling;
  e.source = SourceClass::measured;
  e.stages.reserve(stages.size());
  e.memory.reserve(stages.size());
  Seconds least_bubble;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageRecord& stage = *stages[s];
    const Stage id{static_cast<int>(s)};
    e.source = std::max(e.source, stage.source);
    CostVector parts = busy_parts(stage, table.paired, table.times[s]);
    part(parts, CostClass::host) += profile.step_overhead;
    e.matrix = std::max(e.matrix, matrix_time(parts));
    // Idle time, read off the timeline and not as a remainder: the check below can fail.
    const Seconds bubble = without_rounding(
        (step.pipeline.finish[s] - step.prologue[s] - step.pipeline.busy[s]) +
            step.step_end.waited[s] + (end - step.step_end.end[s]) + straggling,
        e.step);
    const Seconds total = sum(parts) + bubble;
    PLEAT_ASSERT(std::abs((total - e.step).base()) <= 1e-9 * e.step.base());
    e.stages.push_back({id, e.step - bubble, bubble});
    if (s == 0 || bubble < least_bubble) {
      least_bubble = bubble;
      e.parts = parts;
      // What the pipeline waits for transfers, the rest being its shape and unequal stages.
      const Seconds exposed =
          std::clamp(step.pipeline.end - step.pipeline.end_without_transfer, Seconds(0), bubble);
      part(e.parts, CostClass::pp_comm) += exposed;
      part(e.parts, CostClass::bubble) = bubble - exposed;
    }
    if (detail == StepDetail::whole) e.memory.push_back(stage_memory(id, stage, table.work[s]));
  }
  if (frees_cores(cluster, work.ranks, stages.size())) {
    share_cores(e, CoreSharing(stages, table, step, cluster.shared_cores, work.ranks));
  }
  if (detail == StepDetail::duty) return e;
  e.host_bytes = fullest_node(e.memory, work.ranks, cluster.gpus_per_node);
  const double host = cluster.host_memory.base();
  e.fits = static_cast<double>(e.peak_bytes()) <= cluster.gpu.memory.base() &&
           (host <= 0 || static_cast<double>(e.host_bytes) <= host);
  set_throughput(e, work);
  return e;
}

int sustained_clock(const SustainedClock& constants, const StepEstimate& burst) {
  const double duty = burst.matrix / burst.step;
  double clock = 1.0;
  // The clock moves the duty that sets it: matrix time d / c of a step of 1 + d (1 / c - 1). The
  // slope of that map is far below one, so a few rounds settle it.
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    clock = duty_clock(constants, duty / clock / (1 + duty * (1 / clock - 1)));
  }
  return static_cast<int>(std::lround(clock * kClockSteps));
}

Profile at_clock(const Profile& burst, int clock) {
  Profile warm = burst;
  const double factor = static_cast<double>(clock) / kClockSteps;
  SustainedClock& c = warm.sustained_clock;
  for (double* rate : {&c.gemm_bf16, &c.gemm_fp8, &c.gemm_fp4, &c.attention}) *rate *= factor;
  return warm;
}

}  // namespace pleat
