// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans that the rules of plans allow and the simulator prices, but that no search is to find: the
// runtime or the hardware does not have them (docs/SEARCH.md, "What is not searched"). Said once
// more here, so that a search that leaves out too much is found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/executed_formats.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/plan.hpp"
#include "planner/problem.hpp"

namespace pleat::test {

// SMs of an exchange have a price where they were measured.
inline bool sms_measured(const Problem& on, const Plan& plan) {
  if (plan.dispatcher_sms == 0) return true;
  const auto kernel = traits_of(plan.dispatcher).fused;
  const std::int64_t ranks = std::int64_t{plan.expert.ep} * plan.expert.etp;
  const bool within = on.cluster.tiers.empty() || ranks <= on.cluster.tiers.front().size;
  return kernel && within && std::ranges::any_of(on.profile.dispatch, [&](const DispatchRate& r) {
           return r.kernel == *kernel && r.tier == 0 && r.sms == plan.dispatcher_sms;
         });
}

inline const char* missing_hardware(const Problem& on, const Plan& plan) {
  const auto& tiers = on.cluster.tiers;
  if (const auto library = traits_of(plan.dispatcher).library;
      library && on.cluster.lacks(*library)) {
    return "a dispatcher's library";
  }
  switch (traits_of(plan.dispatcher).needs) {
    case DispatcherNeeds::nothing:
      break;
    case DispatcherNeeds::fp8:
      if (on.cluster.gpu.peak_fp8.base() <= 0) return "a dispatcher for GPUs with fp8";
      break;
  }
  // Searches name it as not tried: only changes of their best plans have it.
  const bool rack = !tiers.empty() && tiers.front().size > 8;
  if (plan.dispatcher == (rack ? Dispatcher::deepep : Dispatcher::hybridep))
    return "a fused dispatcher that is not usual here";
  return sms_measured(on, plan) ? nullptr : "SMs that were not measured";
}

// Megatron-LM builds no prediction block on a first rank (pipeline_parallel_layer_layout.py:86).
inline bool prediction_on_first_rank(const ModelSpec& model, const Plan& plan) {
  if (model.mtp_layers == 0 || plan.attention.pp == 1) return false;
  const std::vector<VirtualStage> stages = stage_layout(plan, model);
  for (std::size_t i = 0; i < stages.size(); i += static_cast<std::size_t>(plan.attention.pp)) {
    if (stages[i].mtp) return true;
  }
  return false;
}

inline const char* not_of_megatron(const ModelSpec& model, const GpuSpec& gpu, const Plan& plan) {
  if (plan.schedule != PipelineSchedule::one_f_one_b) return "an order of pipelines";
  if (plan.dispatcher == Dispatcher::hierarchical) return "an all-gather before an all-to-all";
  if (plan.expert.placement != ExpertPlacement::in_order) return "experts placed by load";
  if (!plan.stages.empty()) return "stages that choose for themselves";
  if (plan.optimizer.state_offload > 0) return "state in host memory between steps";
  if (prediction_on_first_rank(model, plan)) return "a prediction block on a first rank";
  const bool shards = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  const bool kept_narrow =
      plan.fp8_params && (plan.precision == Precision::fp8 || plan.precision == Precision::mxfp8);
  if (plan.optimizer.cpu_offload > 0 && (shards || kept_narrow)) return "a step on the CPU";
  const bool biases = model.attention.qkv_bias || model.attention.out_bias || model.mlp_bias ||
                      (model.moe && model.moe->mlp_bias);
  if (plan.overlap.delay_wgrad && captures_attention(plan.cuda_graph) && (shards || biases)) {
    return "delayed weight gradients in a graph";
  }
  // Other dispatchers tell the host how many rows they bring, and products before Blackwell's ask.
  // Where a rank has all experts whole, HybridEP sends nothing and the all-to-all takes its place.
  const bool hybrid = plan.dispatcher == Dispatcher::hybridep &&
                      (plan.expert.ep > 1 || plan.expert.etp > 1);
  const bool host_asks = model.moe && (!hybrid || gpu.peak_fp4.base() <= 0);
  if (plan.cuda_graph == CudaGraph::full_iteration && host_asks) return "a graph of all";
  if (plan.overlap.delay_wgrad && plan.overlap.tensor_parallel) return "delayed weight gradients";
  if (plan.overlap.expert_parallel && (plan.precision == Precision::fp32 || model.mtp_layers > 1)) {
    return "overlap of expert exchanges";
  }
  if (model.moe && plan.attention.tp > 1 && !plan.sequence_parallel) return "whole tokens";
  if (model.moe && model.moe->mlp_bias && plan.expert.etp > 1) return "shares of biases of experts";
  const bool again =
      plan.recompute.contains(Module::moe_act) || plan.recompute.contains(Module::layernorm);
  if (plan.precision == Precision::fp8_delayed && again) return "delayed scales of recompute";
  return nullptr;
}

inline const char* not_of_pleat(const ModelSpec& model, const Plan& plan) {
  if (plan.cuda_graph != CudaGraph::none) return "CUDA graphs";
  if (!refused_formats(model, plan).empty()) return "number formats";
  if (plan.attention.tp > 1 && !plan.sequence_parallel) return "whole tokens";
  return nullptr;
}

// Why a search need not find the plan; null where it must not be faster than what the search finds.
inline const char* not_searched(const Problem& on, Runtime runtime, const Plan& plan) {
  if (!plan.flash_attention) return "stored scores";
  if (plan.overlap.gather_beside_step) return "checkpoints of the older format";
  if (plan.loss_chunks > 1) return "a loss in parts";
  if (plan.overlap.tile_level) return "exchanges inside products";
  if (plan.paged_stash.buffer > 0) return "a paged stash";
  if (const char* hardware = missing_hardware(on, plan)) return hardware;
  return runtime == Runtime::megatron ? not_of_megatron(on.model, on.cluster.gpu, plan)
                                      : not_of_pleat(on.model, plan);
}

}  // namespace pleat::test
