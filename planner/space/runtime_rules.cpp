// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/runtime_rules.hpp"

#include <algorithm>
#include <iterator>

#include "core/diagnostics.hpp"
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

// The host launches the experts' kernels with the sizes that routing made, so it must know them
// before a step begins: experts padded to their capacity, or HybridEP, whose ranks have room for a
// capacity and tell nobody what they got (transformer_config.py:1870: its alone), and kernels that
// need not be told.
bool host_knows_sizes(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                      const GpuSpec& gpu) {
  return !model.moe || workload.pad_to_capacity ||
         (plan.dispatcher == Dispatcher::hybridep && reads_sizes_on_device(gpu));
}

const char* refused_by_megatron(const ModelSpec& model, const WorkloadSpec& workload,
                                const Plan& plan, const GpuSpec& gpu) {
  if (plan.overlap.delay_wgrad && captures_attention(plan.cuda_graph)) {
    if (has_biases(model)) return "delayed-wgrad-biases-in-graph";
    if (shards_weights(plan)) return "delayed-wgrad-shards-in-graph";
  }
  const bool whole = plan.cuda_graph == CudaGraph::full_iteration;
  if (whole && !host_knows_sizes(model, workload, plan, gpu)) {
    return "graph-of-unknown-sizes";
  }
  if (plan.paged_stash.buffer > 0 && plan.dispatcher != Dispatcher::hybridep) {
    return "stash-dispatcher";
  }
  if (plan.optimizer.cpu_offload <= 0) return nullptr;
  if (!cpu_may_step(Runtime::megatron, plan)) return "cpu-optimizer-fp8-weights";
  return shards_weights(plan) ? "cpu-optimizer-sharding" : nullptr;
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
    {"graph-of-unknown-sizes",
     "a graph of the whole iteration needs sizes that do not depend on routing: dispatcher "
     "hybridep on Blackwell, or experts that are padded to a capacity"},
    {"stash-dispatcher",
     "a paged stash needs the hybridep dispatcher (core/transformer/transformer_config.py:1870)"},
    {"cpu-optimizer-fp8-weights",
     "the CPU makes no step of weights that are kept in fp8 (training/arguments.py:1889): "
     "fp8_params false"},
    {"cpu-optimizer-sharding",
     "the CPU makes no step of zero2 or zero3 (NVIDIA/Megatron-LM issue 1986): zero1"}};

}  // namespace

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
