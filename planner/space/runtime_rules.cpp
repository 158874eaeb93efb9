// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/runtime_rules.hpp"

#include <algorithm>

#include "core/plan/executed_formats.hpp"
#include "core/plan/layout.hpp"

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

bool builds_layout(Runtime runtime, const ModelSpec& model, const Plan& plan) {
  const int pp = plan.attention.pp;
  if (runtime != Runtime::megatron || pp == 1 || model.mtp_layers == 0) return true;
  const std::vector<VirtualStage> stages = stage_layout(plan, model);
  const auto at = std::ranges::find(stages, true, &VirtualStage::mtp);
  return at == stages.end() || (at - stages.begin()) % pp != 0;
}

namespace {

// training/arguments.py:1925 and 1919.
const char* refused_graph(const ModelSpec& model, const Plan& plan) {
  if (!plan.overlap.delay_wgrad || !captures_attention(plan.cuda_graph)) return nullptr;
  const bool bias = model.attention.qkv_bias || model.attention.out_bias || model.mlp_bias ||
                    (model.moe && model.moe->mlp_bias);
  if (bias) return "delayed-wgrad-biases-in-graph";
  return plan.sharding > Sharding::zero1 ? "delayed-wgrad-shards-in-graph" : nullptr;
}

}  // namespace

// Megatron-LM checks nothing of the kind, but its step on the CPU copies parameters as plain
// tensors, which those of Megatron-FSDP are not (NVIDIA/Megatron-LM issue 1986; pull request 4623
// would change that).
const char* refused_by(Runtime runtime, const ModelSpec& model, const Plan& plan) {
  if (runtime == Runtime::pleat) {
    return refused_formats(model, plan).empty() ? nullptr : "executed-number-formats";
  }
  if (runtime != Runtime::megatron) return nullptr;
  if (const char* rule = refused_graph(model, plan)) return rule;
  if (plan.optimizer.cpu_offload <= 0) return nullptr;
  if (!cpu_may_step(runtime, plan)) return "cpu-optimizer-fp8-weights";
  const bool fsdp = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  return fsdp ? "cpu-optimizer-sharding" : nullptr;
}

}  // namespace pleat
