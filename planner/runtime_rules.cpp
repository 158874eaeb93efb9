// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/runtime_rules.hpp"

#include "core/plan/executed_formats.hpp"

namespace pleat {

bool keeps_fp8_weights(const Plan& plan) {
  if (!plan.fp8_params) return false;
  switch (plan.precision) {
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::mxfp8: return true;
    case Precision::fp8_block:  // gathered in bf16
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16:
    case Precision::nvfp4: return false;
  }
  return false;
}

bool cpu_may_step(Runtime runtime, const Plan& plan) {
  return runtime != Runtime::megatron || plan.precision == Precision::fp8_delayed ||
         !keeps_fp8_weights(plan);
}

// Megatron-LM checks nothing of the kind, but its step on the CPU copies parameters as plain tensors,
// which those of Megatron-FSDP are not (NVIDIA/Megatron-LM issue 1986; pull request 4623 would change
// that).
const char* refused_by(Runtime runtime, const ModelSpec& model, const Plan& plan) {
  if (runtime == Runtime::pleat) {
    return refused_formats(model, plan).empty() ? nullptr : "executed-number-formats";
  }
  if (plan.optimizer.cpu_offload <= 0 || runtime != Runtime::megatron) return nullptr;
  if (!cpu_may_step(runtime, plan)) return "cpu-optimizer-fp8-weights";
  const bool fsdp = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  return fsdp ? "cpu-optimizer-sharding" : nullptr;
}

}  // namespace pleat
