// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/booking.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quantity.hpp"
#include "planner/capacity/placement.hpp"
#include "planner/reliability/checkpoint.hpp"

namespace pleat {
namespace {

constexpr double kLeastGoodput = 0.01;

BytesPerSecond storage_of(const Job& job, const Rates& rates) {
  return BytesPerSecond(1e9 * std::min(rates.at(Rate::storage_per_gpu) * job.gpus,
                                       rates.at(Rate::storage_limit)));
}

// The number of steps between saves with the least expected time.
std::int64_t best_interval(const SaveCycle& cycle, Seconds step, double steps) {
  const auto most = static_cast<std::int64_t>(std::max(1.0, std::ceil(steps)));
  const auto least =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(cycle.upload / step)), 1, most);
  const double ideal = renewal_interval(cycle.stall, cycle.mtbf) / step;
  if (!(ideal < static_cast<double>(most))) return most;
  const auto cost = [&](std::int64_t count) {
    SaveCycle c = cycle;
    c.work = step * static_cast<double>(count);
    return expected_cycle(c).total() / c.work;
  };
  const std::int64_t below = std::clamp(static_cast<std::int64_t>(ideal), least, most);
  const std::int64_t above = std::clamp(below + 1, least, most);
  return cost(above) < cost(below) ? above : below;
}

// Whether a node's memory has room both for what the plan keeps there and for the node's share of a
// checkpoint that is being written. (The estimate has already checked the plan's part alone.)
bool holds_a_checkpoint(const Job& job, const Rates& rates, Bytes checkpoint) {
  if (job.host_memory <= Bytes(0)) return true;  // the cluster does not say
  const double share = static_cast<double>(std::min(job.gpus_per_node, job.gpus)) / job.gpus;
  return static_cast<double>(job.host_bytes) + (checkpoint * share).base() <=
         job.host_memory.base() * rates.at(Rate::host_memory_share);
}

void plan_saves(const Job& job, const Rates& rates, Booking& b, SaveCycle& cycle) {
  SavePlan& save = b.save;
  save.checkpoint = Bytes(static_cast<double>(job.parameters * checkpoint_bytes_per_parameter(
                                                                   job.plan.precision,
                                                                   job.plan.optimizer)));
  const Seconds fixed(rates.at(Rate::save_fixed));
  const BytesPerSecond storage = storage_of(job, rates);
  save.background =
      rates.at(Rate::background_saves) != 0 && holds_a_checkpoint(job, rates, save.checkpoint);
  const SaveTimes times =
      save.background
          ? background_save(save.checkpoint, job.gpus, job.host_link, storage, fixed)
          : blocking_save(save.checkpoint, storage, fixed);
  save.stall = times.stall;
  save.upload = times.upload;
  cycle.stall = times.stall;
  cycle.upload = times.upload;
  cycle.restart = Seconds(60 * rates.at(Rate::restart)) + save.checkpoint / storage;
  save.young = young_interval(save.stall, b.mtbf);
  save.daly = daly_interval(save.stall, b.mtbf);
  save.interval_steps = best_interval(cycle, run_step(job), b.steps);
  cycle.work = run_step(job) * static_cast<double>(save.interval_steps);
  save.recovery_pressure = recovery_pressure(b.mtbf, cycle.restart, cycle.work + cycle.stall);
}

PaidTime pay(const Job& job, const Placement& p, const CycleTime& cycle, double cycles,
             Seconds start) {
  PaidTime t;
  const double gpus = job.gpus;
  t.useful = gpus * cycles * cycle.work.base();
  t.checkpoint = gpus * cycles * cycle.stall.base();
  t.lost = gpus * cycles * cycle.lost.base();
  t.restart = gpus * (cycles * cycle.restart + start).base();
  const double run = t.useful + t.checkpoint + t.lost + t.restart;
  t.waiting = run * (1 / p.available - 1);
  const double wall = (run + t.waiting) / gpus;
  t.idle = (p.paid_gpus - job.gpus) * wall;
  t.paid = p.paid_gpus * wall;
  return t;
}

// GPUs draw full power while steps run, and idle power in the rest of the paid time.
double energy_mwh(const Job& job, const Rates& rates, const PaidTime& t) {
  const double busy = t.useful + t.checkpoint + t.lost;
  const double idle = t.restart + t.waiting + t.idle;
  const double watts =
      job.gpu_power.base() * rates.at(Rate::server_power) * rates.at(Rate::pue);
  return watts * (busy + rates.at(Rate::idle_power) * idle) / kHour / 1e6;
}

}  // namespace

double run_spread(const Job& job) {
  return std::exp(std::hypot(std::log1p(job.band), std::log(job.practice_spread),
                             std::log(job.load_spread)));
}

Booking book(const Job& job, const Rates& rates, double tokens) {
  Booking b;
  const PlacementResult placed = place_job(job, rates);
  b.placement = placed.placement;
  b.problem = placed.problem;
  if (!b.problem.empty()) return b;
  b.steps = std::ceil(tokens / static_cast<double>(job.step_tokens));
  b.mtbf = Seconds(kHour * rates.at(Rate::gpu_mtbf) / job.gpus);
  SaveCycle cycle;
  cycle.mtbf = b.mtbf;
  plan_saves(job, rates, b, cycle);
  const CycleTime expected = expected_cycle(cycle);
  const bool small = job.gpus < rates.at(Rate::small_job);
  const double factor = rates.at(Rate::mtbf_factor);
  const TrainingRun run{
      .cycle = cycle,
      .cycles = b.steps / static_cast<double>(b.save.interval_steps),
      .start = cycle.restart,
      .step_factor = run_spread(job),
      .mtbf_factor = small ? std::max(factor, rates.at(Rate::mtbf_factor_small)) : factor};
  b.finish = finish_time(run);
  const Seconds start = expected_restart(run.start, cycle.mtbf);
  b.paid = pay(job, b.placement, expected, run.cycles, start);
  const double wall = b.paid.paid / b.placement.paid_gpus;
  b.goodput = b.paid.useful / job.gpus / wall;
  if (!std::isfinite(b.finish.p90.base()) || !(b.goodput >= kLeastGoodput)) {
    b.problem = fmt::format("no progress: a failure every {:.0f} s, a restart takes {:.0f} s",
                            b.mtbf.base(), cycle.restart.base());
    return b;
  }
  for (Seconds* t : {&b.finish.expected, &b.finish.p50, &b.finish.p90}) {
    *t *= 1 / b.placement.available;
  }
  b.failures = run.cycles * expected.failures;
  const double hours = b.placement.paid_gpus / kHour;
  b.gpu_hours_p50 = hours * b.finish.p50.base();
  b.gpu_hours_p90 = hours * b.finish.p90.base();
  b.dollars_p50 = b.gpu_hours_p50 * rates.at(Rate::price);
  b.dollars_p90 = b.gpu_hours_p90 * rates.at(Rate::price);
  b.energy_mwh = energy_mwh(job, rates, b.paid);
  return b;
}

}  // namespace pleat
