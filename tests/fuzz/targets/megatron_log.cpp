// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Logs of Megatron runs: times, memory, and the arguments they print, read into a plan.
#include "interop/megatron_import.hpp"
#include "interop/megatron_log.hpp"
#include "core/plan/constraints.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

void run(std::string_view input) {
  const interop::MegatronLog log = interop::parse_megatron_log(std::string(input));
  if (!log.arguments.empty()) {
    const PlanDocument plan = interop::import_arguments(log.arguments, 0, "run.log").document;
    (void)violations({plan.model, plan.workload, plan.plan, plan.gpus});
  }
  const interop::LogTimes times = interop::log_times(log, 1, "run.log");
  require(times.fastest_seconds <= times.slowest_seconds, "a median outside its range");
}

}  // namespace pleat::fuzz
