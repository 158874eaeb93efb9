// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What bounds a predicted step, which operations take its time, and what single changes would do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "application/explain/single_changes.hpp"
#include "core/program/program.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

// One operation of one kind of layer over the whole step of a stage.
struct OpTotal {
  std::string layer;  // "moe"; "step" for prologue and epilogue
  Pass pass = Pass::forward;
  std::string op;
  Module module = Module::residual;
  CostClass cls = CostClass::memory_bound;
  SourceClass source = SourceClass::datasheet;
  std::int64_t count = 0;  // times it runs in the step
  Seconds time;            // of all of them, alone on the device: overlap is not taken off
  Flops flops;
  Bytes bytes;
};

struct PricedChange {
  SingleChange change;
  Seconds step, gain;                           // gain: shorter by
  std::int64_t peak_bytes = 0, more_bytes = 0;  // against the plan's
  bool fits = false;
};

struct Explanation {
  int stage = 0;                      // the busiest: parts and operations are its own
  std::vector<OpTotal> ops;           // longest first
  std::vector<PricedChange> changes;  // those that fit first, then the fastest first
  // The fastest that fits and gains a thousandth of the step at least; null: nothing helps.
  [[nodiscard]] const PricedChange* best(bool arithmetic) const;
};

// Prices every single change; the same whatever the number of threads (0: all cores).
[[nodiscard]] Explanation explain_plan(const Request&, const Program&, const StepEstimate&,
                                       int threads);

}  // namespace pleat
