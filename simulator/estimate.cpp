// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The estimate: step time, its parts on the busiest stage, memory, throughput.
#include "simulator/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "simulator/stage_memory.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

Seconds& part(CostVector& parts, CostClass cls) { return parts[static_cast<std::size_t>(cls)]; }

Seconds sum(const CostVector& parts) {
  Seconds total;
  for (Seconds s : parts) total += s;
  return total;
}

void add_step_ops(CostVector& parts, const std::vector<StepOpCost>& ops) {
  for (const StepOpCost& op : ops) part(parts, op.cost.cls) += op.exposed;
}

// Everything but the bubble: how often each chunk or pair of chunks runs, times its parts.
CostVector busy_parts(const StageProgram& stage, const StageCosts& costs,
                      const std::vector<StepOpCost>& prologue,
                      const std::vector<StepOpCost>& epilogue) {
  const std::size_t chunks = costs.forward.size();
  std::vector<int> alone[2], paired(costs.pairs.size());
  for (auto& counts : alone) counts.resize(chunks);
  for (std::size_t i = 0; i < stage.order.size(); ++i) {
    const Slot& slot = stage.order[i];
    if (slot.with_next) {
      ++paired[slot.chunk.index() * chunks + stage.order[++i].chunk.index()];
    } else {
      ++alone[static_cast<std::size_t>(slot.pass)][slot.chunk.index()];
    }
  }
  CostVector parts{};
  auto add = [&](const PassCost& cost, int times) {
    for (std::size_t k = 0; k < kCostClasses; ++k) parts[k] += cost.parts[k] * times;
  };
  for (std::size_t c = 0; c < chunks; ++c) {
    add(costs.forward[c], alone[0][c]);
    add(costs.backward[c], alone[1][c]);
  }
  for (std::size_t p = 0; p < paired.size(); ++p) add(costs.pairs[p], paired[p]);
  add_step_ops(parts, prologue);
  add_step_ops(parts, epilogue);
  return parts;
}

SourceClass worst_source(const StepTimeline& step) {
  SourceClass worst = SourceClass::measured;
  for (const StageCosts& stage : step.stages) {
    for (const auto* passes : {&stage.forward, &stage.backward, &stage.pairs}) {
      for (const PassCost& cost : *passes) worst = std::max(worst, cost.source);
    }
  }
  for (const auto* ops : {&step.prologue, &step.epilogue}) {
    for (const auto& stage : *ops) {
      for (const StepOpCost& op : stage) worst = std::max(worst, op.cost.source);
    }
  }
  return worst;
}

void set_throughput(StepEstimate& e, const Program& program, const ClusterSpec& cluster) {
  const double tokens = static_cast<double>(program.workload.global_batch) *
                        static_cast<double>(program.workload.seq_len);
  const int ranks = program.plan.world();
  e.tokens_per_second = tokens / e.step.base();
  e.tokens_per_second_per_gpu = e.tokens_per_second / ranks;
  const Flops per_token = model_flops_per_token(program.model, program.workload.seq_len);
  e.model_flops_per_gpu = FlopsPerSecond(per_token.base() * e.tokens_per_second_per_gpu);
  const bool fp32 = program.plan.precision == Precision::fp32 ||
                    cluster.gpu.peak_bf16 <= FlopsPerSecond(0);
  FlopsPerSecond peak = fp32 ? cluster.gpu.peak_fp32 : cluster.gpu.peak_bf16;
  // Ranks that share cores share their peak.
  if (cluster.shared_cores > 0 && ranks > cluster.shared_cores) {
    peak *= static_cast<double>(cluster.shared_cores) / ranks;
  }
  if (peak > FlopsPerSecond(0)) e.mfu = e.model_flops_per_gpu / peak;
}

}  // namespace

std::int64_t StepEstimate::peak_bytes() const {
  std::int64_t peak = 0;
  for (const StageMemory& m : memory) peak = std::max(peak, m.peak);
  return peak;
}

namespace {

StepEstimate estimate_at_clock(const Program& program, const ClusterSpec& cluster,
                               const Profile& profile) {
  const StepTimeline step = price_step(program, cluster, profile, false);
  StepEstimate e;
  Seconds end;
  for (Seconds stage_end : step.step_end.end) end = std::max(end, stage_end);
  e.step = end + profile.step_overhead;
  e.low = e.step * (1.0 - profile.relative_band);
  e.high = e.step * (1.0 + profile.relative_band);
  e.source = worst_source(step);

  Seconds least_bubble;
  for (std::size_t s = 0; s < program.stages.size(); ++s) {
    const StageProgram& stage = program.stages[s];
    CostVector parts = busy_parts(stage, step.stages[s], step.prologue[s], step.epilogue[s]);
    part(parts, CostClass::host) += profile.step_overhead;
    // Idle time, read off the timeline and not as a remainder: the check below can fail.
    Seconds prologue;
    for (const StepOpCost& op : step.prologue[s]) prologue += op.exposed;
    const Seconds bubble = (step.pipeline.finish[s] - prologue - step.pipeline.busy[s]) +
                           step.step_end.waited[s] + (end - step.step_end.end[s]);
    const Seconds total = sum(parts) + bubble;
    PLEAT_ASSERT(std::abs((total - e.step).base()) <= 1e-9 * e.step.base());
    e.stages.push_back({stage.stage, e.step - bubble, bubble});
    if (s == 0 || bubble < least_bubble) {
      least_bubble = bubble;
      e.parts = parts;
      // What the pipeline waits for transfers, the rest being its shape and unequal stages.
      const Seconds exposed =
          std::clamp(step.pipeline.end - step.pipeline_end_without_transfer, Seconds(0),
                     std::max(Seconds(0), bubble));
      part(e.parts, CostClass::pp_comm) += exposed;
      part(e.parts, CostClass::bubble) = bubble - exposed;
    }
    e.memory.push_back(
        stage_memory(stage, step.stages[s], runtime_bytes(program, stage)));
  }
  e.fits = static_cast<double>(e.peak_bytes()) <= cluster.gpu.memory.base();
  set_throughput(e, program, cluster);
  return e;
}

double matrix_duty(const StepEstimate& e) {
  Seconds busy;
  for (CostClass cls : {CostClass::gemm, CostClass::grouped_gemm, CostClass::attention}) {
    busy += e.parts[static_cast<std::size_t>(cls)];
  }
  return busy / e.step;
}

}  // namespace

Profile warm_profile(const Program& program, const ClusterSpec& cluster, const Profile& profile) {
  constexpr int kRounds = 2;  // the clock moves the duty that sets it; two rounds leave below 1%
  Profile warm = profile;
  if (profile.sustained_clock.duty_slope <= 0) return warm;
  for (int round = 0; round < kRounds; ++round) {
    const double duty = matrix_duty(estimate_at_clock(program, cluster, warm));
    const double clock = duty_clock(profile.sustained_clock, duty);
    warm.sustained_clock.gemm_bf16 = profile.sustained_clock.gemm_bf16 * clock;
    warm.sustained_clock.gemm_fp8 = profile.sustained_clock.gemm_fp8 * clock;
    warm.sustained_clock.gemm_fp4 = profile.sustained_clock.gemm_fp4 * clock;
    warm.sustained_clock.attention = profile.sustained_clock.attention * clock;
  }
  return warm;
}

std::int64_t StepEstimate::peak_allocated_bytes() const {
  std::int64_t peak = 0;
  for (const StageMemory& m : memory) peak = std::max(peak, m.allocated());
  return peak;
}

StepEstimate estimate(const Program& program, const ClusterSpec& cluster, const Profile& profile) {
  if (profile.sustained_clock.duty_slope <= 0) return estimate_at_clock(program, cluster, profile);
  return estimate_at_clock(program, cluster, warm_profile(program, cluster, profile));
}

}  // namespace pleat
