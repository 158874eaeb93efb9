// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One offer: this many GPUs of this cluster, running this plan, until so many tokens are trained.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "core/plan/plan.hpp"
#include "planner/capacity/rates.hpp"
#include "planner/reliability/finish_time.hpp"

namespace pleat {

// What the search and the cluster say about a job.
struct Job {
  std::string cluster;
  int gpus = 1;                 // that run the plan
  int domain = 8;               // GPUs of the innermost network domain: node or NVL72 rack
  int used_in_domain = 8;       // how many of these the plan uses; in the last domain what is left
  int gpus_per_node = 8;
  int stage_gpus = 0;           // of a pipeline stage; 0: unknown, domains are filled as above
  Plan plan;
  Seconds step;
  double band = 0;              // relative, P90 over median less 1
  double mfu = 0;
  std::int64_t global_batch = 1;  // sequences
  std::int64_t step_tokens = 1;
  std::int64_t parameters = 0;
  std::int64_t peak_bytes = 0;      // of a GPU
  std::int64_t host_bytes = 0;      // of host memory, of the fullest node (StepEstimate)
  Bytes host_memory;                // of a node; 0: not said
  BytesPerSecond host_link;
  Watts gpu_power;
};

// How the GPUs are booked.
struct Placement {
  int domains = 1;
  int used_in_domain = 1; // GPUs that work, of every domain but the last
  int used_in_last = 1;   // GPUs of the last domain that work
  int paid_gpus = 1;      // working and idle ones
  int spare_units = 0;    // that can take the place of a failed one
  int unit_gpus = 8;      // of a spare: a node, or a rack where a rack is used whole
  double available = 1;   // share of the time in which the spares suffice
};

struct SavePlan {
  Bytes checkpoint;             // one of them
  std::int64_t interval_steps = 1;
  Seconds stall, upload;
  bool background = true;
  Seconds young, daly;          // what the classical formulas say, for comparison
  double recovery_pressure = 0;
};

// GPU-seconds by purpose; they add up to `paid`.
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
  std::string problem;         // not empty: it cannot be run, and why
};

// Rates must be complete. If a feasibility rule is broken, `problem` says so and the other fields
// mean nothing.
[[nodiscard]] Booking book(const Job&, const Rates&, double tokens);

}  // namespace pleat
