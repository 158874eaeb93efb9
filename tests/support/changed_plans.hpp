// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan with one thing changed.
#pragma once

#include "core/plan/plan.hpp"

namespace pleat::test {

inline Plan unsharded(Plan plan) {
  plan.sharding = Sharding::none;
  return plan;
}

inline Plan recomputing_all(Plan plan) {
  plan.recompute_full = true;
  return plan;
}

inline Plan two_samples(Plan plan) {
  plan.micro_batch = 2;
  return plan;
}

inline Plan by(Dispatcher dispatcher, Plan plan) {
  plan.dispatcher = dispatcher;
  return plan;
}

inline Plan interleaved(Plan plan, PipelineSchedule schedule = PipelineSchedule::one_f_one_b) {
  plan.vpp = 2;
  plan.schedule = schedule;
  return plan;
}

inline Plan in_bf16(Plan plan) {
  plan.precision = Precision::bf16;
  return plan;
}

}  // namespace pleat::test
