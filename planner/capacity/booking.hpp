// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What one offer costs: so many GPUs of a cluster run a plan until so many tokens are trained.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/plan/plan.hpp"
#include "planner/capacity/rates.hpp"
#include "planner/reliability/finish_time.hpp"

namespace pleat {

// What is known of a job before it is booked, from the search and from the cluster.
struct Job {
  std::string cluster;
  int gpus = 1;                 // GPUs that run the plan
  int domain = 8;               // GPUs of the innermost network domain: node or NVL72 rack
  int used_in_domain = 8;       // GPUs that the plan uses of each domain; the last one has the rest
  int gpus_per_node = 8;
  int stage_gpus = 0;           // GPUs of a pipeline stage; 0: unknown, and the above holds
  Plan plan;
  Seconds step;
  double band = 0;              // of the step time: 90% quantile over median, less 1
  // What a run takes over that: at the median, and its 90% quantile over the median.
  double practice = 1, practice_spread = 1;  // by how it is tuned (planner/capacity/tuning.hpp)
  double load_spread = 1;       // of the loads of experts: 90% quantile of the step over the median
  double mfu = 0, mfu_of_precision = 0;  // as StepEstimate has them
  std::int64_t global_batch = 1;  // sequences
  std::int64_t step_tokens = 1;
  std::int64_t parameters = 0;
  std::int64_t peak_bytes = 0;      // of GPU memory, on the fullest GPU
  std::int64_t host_bytes = 0;      // of host memory, on the fullest node (StepEstimate)
  Bytes host_memory;                // that a node has; 0: the cluster does not say
  BytesPerSecond host_link;
  Watts gpu_power;
};

// The median of the steps of a run.
[[nodiscard]] inline Seconds run_step(const Job& job) { return job.step * job.practice; }
// Their 90% quantile over it: the prediction's own error, tuning and loads, each log-normal.
[[nodiscard]] double run_spread(const Job&);

// How the GPUs are booked.
struct Placement {
  int domains = 1;
  int used_in_domain = 1;  // working GPUs of every domain but the last
  int used_in_last = 1;    // working GPUs of the last domain
  int paid_gpus = 1;       // working and idle GPUs
  int spare_units = 0;     // units of hardware that can replace a failed one
  int unit_gpus = 8;       // GPUs of such a unit: a node, or a rack where racks are used whole
  double available = 1;    // share of the time in which there are enough spares
};

struct SavePlan {
  Bytes checkpoint;             // size of one
  std::int64_t interval_steps = 1;
  Seconds stall, upload;
  bool background = true;
  Seconds young, daly;          // what the classical formulas say, for comparison
  double recovery_pressure = 0;
};

// The paid GPU-seconds by what they are spent on. `paid` is their sum.
struct PaidTime {
  double useful = 0, checkpoint = 0, lost = 0, restart = 0, waiting = 0, idle = 0;
  double paid = 0;
  [[nodiscard]] double sum() const { return useful + checkpoint + lost + restart + waiting + idle; }
};

struct Booking {
  Placement placement;
  SavePlan save;
  double steps = 0;
  Seconds mtbf;                // of the job
  double failures = 0;         // expected
  double goodput = 0;          // share of the run's time that makes progress
  FinishTime finish;
  PaidTime paid;               // expected
  double gpu_hours_p50 = 0, gpu_hours_p90 = 0;
  double dollars_p50 = 0, dollars_p90 = 0;
  double energy_mwh = 0;       // expected, of the data centre
  std::string problem;         // why it cannot be run; empty: it can
};

// All rates must be given. Where the job cannot be run, `problem` says why, and the other fields
// mean nothing.
[[nodiscard]] Booking book(const Job&, const Rates&, double tokens);

}  // namespace pleat
