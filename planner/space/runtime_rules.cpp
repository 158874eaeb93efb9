// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/runtime_rules.hpp"

#include <algorithm>
#include <iterator>

#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/executed_formats.hpp"
#include "core/plan/layout.hpp"

namespace pleat {

bool keeps_fp8_weights(const Plan& plan) {
  if (!plan.fp8_params) return false;
  switch (plan.precision) {
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::mxfp8:
      return true;
    case Precision::fp8_block:  // gathered in bf16
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16:
    case Precision::nvfp4:
      return false;
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

bool shards_weights(const Plan& plan) { return plan.sharding > Sharding::zero1; }

bool has_biases(const ModelSpec& model) {
  return model.attention.qkv_bias || model.attention.out_bias || model.mlp_bias ||
         (model.moe && model.moe->mlp_bias);
}

// Grouped products that read their sizes on the device: kernels for Blackwell (fp4), of
// TransformerEngine and cuDNN's front end.
bool reads_sizes_on_device(const GpuSpec& gpu) { return gpu.peak_fp4 > FlopsPerSecond(0); }

// DeepEP and HybridEP exchange nothing where a rank has all experts whole: Megatron-LM takes its
// all-to-all there (core/transformer/moe/token_dispatcher.py:1836).
bool sends_fused(const Plan& plan, Dispatcher dispatcher) {
  return plan.dispatcher == dispatcher && plan.expert.ep * plan.expert.etp > 1;
}

bool copies_rows(const Plan& plan) {
  return plan.dispatcher == Dispatcher::alltoall ||
         (is_fused(plan.dispatcher) && !sends_fused(plan, plan.dispatcher));
}

// A graph of the whole step is launched without a look at what routing decided, so the sizes of the
// experts' kernels must be known before. They are where experts are padded to their capacity; and
// they need not be with HybridEP, which has room for a capacity (transformer_config.py:1870: it
// alone), and kernels that read their sizes on the device.
bool host_knows_sizes(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                      const GpuSpec& gpu) {
  return !model.moe || workload.pad_to_capacity ||
         (sends_fused(plan, Dispatcher::hybridep) && reads_sizes_on_device(gpu));
}

// Which rule forbids the plan's overlaps in the backward pass; null: none.
const char* refused_overlap(const ModelSpec& model, const Plan& plan) {
  if (plan.overlap.delay_wgrad && captures_attention(plan.cuda_graph)) {
    if (has_biases(model)) return "delayed-wgrad-biases-in-graph";
    if (shards_weights(plan)) return "delayed-wgrad-shards-in-graph";
  }
  if (plan.overlap.delay_wgrad && plan.overlap.tensor_parallel) return "delayed-wgrad-tp-overlap";
  if (!plan.overlap.expert_parallel) return nullptr;
  if (plan.precision == Precision::fp32) return "ep-overlap-precision";
  return model.mtp_layers > 1 ? "ep-overlap-predictions" : nullptr;
}

// Which rule of experts the plan breaks; null: none.
const char* refused_experts(const ModelSpec& model, const WorkloadSpec& workload,
                            const Plan& plan) {
  if (!model.moe) return nullptr;
  if (plan.attention.tp > 1 && !plan.sequence_parallel) return "experts-sequence-parallel";
  if (plan.expert.etp > 1 && model.moe->mlp_bias) return "expert-biases-etp";
  const bool drops = workload.capacity_factor > 0 && !workload.pad_to_capacity;
  if (drops && captures_router(plan.cuda_graph) && copies_rows(plan)) {
    return "dropped-tokens-in-graph";
  }
  const bool stash = plan.paged_stash.buffer > 0;
  return stash && !sends_fused(plan, Dispatcher::hybridep) ? "stash-dispatcher" : nullptr;
}

const char* refused_by_megatron(const ModelSpec& model, const WorkloadSpec& workload,
                                const Plan& plan, const GpuSpec& gpu) {
  if (const char* rule = refused_overlap(model, plan)) return rule;
  const bool whole = plan.cuda_graph == CudaGraph::full_iteration;
  if (whole && !host_knows_sizes(model, workload, plan, gpu)) {
    return "graph-of-unknown-sizes";
  }
  if (const char* rule = refused_experts(model, workload, plan)) return rule;
  if (plan.precision == Precision::fp8_delayed &&
      (plan.recompute.contains(Module::moe_act) || plan.recompute.contains(Module::layernorm))) {
    return "delayed-scaling-recompute";
  }
  if (plan.loss_chunks > 1) return "loss-in-parts";
  return refused_cpu_step(Runtime::megatron, plan);
}

struct Reason {
  std::string_view rule, why;
};

// Megatron-LM checks nothing of a CPU's step with shards, but copies parameters as plain tensors,
// which those of Megatron-FSDP are not (NVIDIA/Megatron-LM issue 1986; pull request 4623 would
// change that).
constexpr Reason kReasons[] = {
    {"executed-number-formats", "the runtime does not compute in these number formats"},
    {"delayed-wgrad-biases-in-graph",
     "delayed weight gradients exclude biases where attention is in a CUDA graph "
     "(training/arguments.py:1925)"},
    {"delayed-wgrad-shards-in-graph",
     "delayed weight gradients exclude zero2 and zero3 where attention is in a CUDA graph "
     "(training/arguments.py:1919)"},
    {"delayed-wgrad-tp-overlap",
     "delayed weight gradients exclude overlap of tensor-parallel communication, whose weight "
     "gradients are in bulk (TransformerEngine pytorch/module/_common.py)"},
    {"delayed-scaling-recompute",
     "delayed scaling excludes recompute of moe_act and layernorm "
     "(core/transformer/transformer_config.py:2003): precision fp8, or other modules"},
    {"dropped-tokens-in-graph",
     "an all-to-all that drops tokens is in no CUDA graph of the router, except padded to a "
     "capacity (core/transformer/transformer_config.py:2849)"},
    {"ep-overlap-precision",
     "overlap of expert-parallel communication needs bf16 or fp16 "
     "(core/transformer/transformer_config.py:3035)"},
    {"ep-overlap-predictions",
     "overlap of expert-parallel communication allows one prediction layer at most "
     "(core/transformer/transformer_config.py:3042)"},
    {"expert-biases-etp",
     "experts with biases need ETP 1 (core/transformer/transformer_config.py:2613)"},
    {"experts-sequence-parallel",
     "experts with TP above 1 train with sequence parallelism only "
     "(core/transformer/moe/moe_layer.py)"},
    {"graph-of-unknown-sizes",
     "a graph of the whole iteration needs sizes that do not depend on routing: dispatcher "
     "hybridep with EP above 1 on Blackwell, or experts that are padded to a capacity"},
    {"loss-in-parts",
     "the logits of a microbatch are there at once (core/model_parallel_config.py:325): "
     "loss_chunks 1"},
    {"stash-dispatcher",
     "a paged stash needs the hybridep dispatcher with EP above 1 "
     "(core/transformer/transformer_config.py:1870)"},
    {"cpu-optimizer-fp8-weights",
     "the CPU makes no step of weights that are kept in fp8 (training/arguments.py:1889): "
     "fp8_params false"},
    {"cpu-optimizer-sharding",
     "the CPU makes no step of zero2 or zero3 (NVIDIA/Megatron-LM issue 1986): zero1"}};

}  // namespace

const char* refused_cpu_step(Runtime runtime, const Plan& plan) {
  if (runtime != Runtime::megatron || plan.optimizer.cpu_offload <= 0) return nullptr;
  if (!cpu_may_step(runtime, plan)) return "cpu-optimizer-fp8-weights";
  return shards_weights(plan) ? "cpu-optimizer-sharding" : nullptr;
}

const char* refused_by(Runtime runtime, const ModelSpec& model, const WorkloadSpec& workload,
                       const Plan& plan, const GpuSpec& gpu) {
  switch (runtime) {
    case Runtime::pleat:
      return refused_formats(model, plan).empty() ? nullptr : "executed-number-formats";
    case Runtime::megatron:
      return refused_by_megatron(model, workload, plan, gpu);
  }
  return nullptr;
}

std::string_view why_refused(std::string_view rule) {
  const auto* const found = std::ranges::find(kReasons, rule, &Reason::rule);
  PLEAT_ASSERT(found != std::end(kReasons));
  return found->why;
}

}  // namespace pleat
