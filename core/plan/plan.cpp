// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Names of a plan's choices and its one-line summary.
#include "core/plan/plan.hpp"

#include <fmt/format.h>

namespace pleat {

std::string name_of(Precision p) {
  switch (p) {
    case Precision::fp32: return "fp32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: return "bf16";
    case Precision::fp8: return "fp8";
    case Precision::fp8_delayed: return "fp8_delayed";
    case Precision::fp8_block: return "fp8_block";
    case Precision::mxfp8: return "mxfp8";
    case Precision::nvfp4: return "nvfp4";
  }
  return "?";
}

std::string name_of(Sharding s) {
  switch (s) {
    case Sharding::none: return "none";
    case Sharding::zero1: return "zero1";
    case Sharding::zero2: return "zero2";
    case Sharding::zero3: return "zero3";
  }
  return "?";
}

std::string name_of(Dispatcher d) {
  switch (d) {
    case Dispatcher::allgather: return "allgather";
    case Dispatcher::alltoall: return "alltoall";
    case Dispatcher::deepep: return "deepep";
    case Dispatcher::hybridep: return "hybridep";
    case Dispatcher::hierarchical: return "hierarchical";
  }
  return "?";
}

std::string name_of(CudaGraph g) {
  switch (g) {
    case CudaGraph::none: return "none";
    case CudaGraph::attention: return "attention";
    case CudaGraph::router: return "router";
    case CudaGraph::partial: return "partial";
    case CudaGraph::full_iteration: return "full_iteration";
  }
  return "?";
}

std::string name_of(CpComm c) {
  switch (c) {
    case CpComm::p2p: return "p2p";
    case CpComm::all_gather: return "all_gather";
    case CpComm::all_to_all: return "all_to_all";
    case CpComm::a2a_p2p: return "a2a+p2p";
  }
  return "?";
}

std::string name_of(PipelineSchedule s) {
  switch (s) {
    case PipelineSchedule::one_f_one_b: return "1f1b";
    case PipelineSchedule::zb_h1: return "zb-h1";
    case PipelineSchedule::zb_v: return "zb-v";
    case PipelineSchedule::dualpipe: return "dualpipe";
    case PipelineSchedule::dualpipe_v: return "dualpipe-v";
  }
  return "?";
}

std::string name_of(OptimizerKind k) {
  switch (k) {
    case OptimizerKind::adamw: return "adamw";
    case OptimizerKind::lamb: return "lamb";
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::muon: return "muon";
  }
  return "?";
}

std::string name_of(Offload o) {
  switch (o) {
    case Offload::attn_norm: return "attn_norm";
    case Offload::qkv_linear: return "qkv_linear";
    case Offload::core_attn: return "core_attn";
    case Offload::attn_proj: return "attn_proj";
    case Offload::mlp_norm: return "mlp_norm";
    case Offload::expert_fc1: return "expert_fc1";
    case Offload::moe_act: return "moe_act";
  }
  return "?";
}

std::string name_of(Module m) {
  switch (m) {
    case Module::layernorm: return "layernorm";
    case Module::mla_up_proj: return "mla_up_proj";
    case Module::core_attn: return "core_attn";
    case Module::mlp: return "mlp";
    case Module::moe_act: return "moe_act";
    case Module::shared_experts: return "shared_experts";
    case Module::moe: return "moe";
    case Module::embedding: return "embedding";
    case Module::qkv: return "qkv";
    case Module::attn_proj: return "attn_proj";
    case Module::router: return "router";
    case Module::dispatch: return "dispatch";
    case Module::experts: return "experts";
    case Module::combine: return "combine";
    case Module::residual: return "residual";
    case Module::head: return "head";
    case Module::grad_sync: return "grad_sync";
    case Module::optimizer: return "optimizer";
    case Module::pipeline: return "pipeline";
  }
  return "?";
}

namespace {

template <class Set>
std::string list_of(const char* title, const Set& values) {
  std::string text;
  for (const auto value : values) text += (text.empty() ? title : ",") + name_of(value);
  return text;
}

bool is_fp8(Precision p) {
  return p == Precision::fp8 || p == Precision::fp8_delayed || p == Precision::fp8_block ||
         p == Precision::mxfp8;
}

std::string overlap_text(const OverlapFlags& f) {
  std::string text;
  if (f.expert_parallel) text += " ep-overlap";
  if (f.delay_wgrad) text += " delay-wgrad";
  if (f.tensor_parallel) text += " tp-overlap";
  if (f.shared_expert) text += " shared-overlap";
  if (f.tile_level) text += " tile-overlap";
  if (!f.grad_reduce) text += " no-grad-overlap";
  if (!f.param_gather) text += " no-param-overlap";
  return text;
}

// What is not AdamW in fp32 on the GPU: "muon grads=bf16".
std::string optimizer_text(const OptimizerPlan& o) {
  std::string text;
  if (o.kind != OptimizerKind::adamw) text += " " + name_of(o.kind);
  const auto add = [&text](const char* name, DType type) {
    if (type != DType::fp32) text += fmt::format(" {}={}", name, name_of(type));
  };
  add("grads", o.main_grads);
  add("params", o.main_params);
  add("exp-avg", o.exp_avg);
  add("exp-avg-sq", o.exp_avg_sq);
  if (o.grad_reduce) text += fmt::format(" grad-reduce={}", name_of(*o.grad_reduce));
  if (o.state_offload > 0) text += fmt::format(" state-offload={:g}", o.state_offload);
  if (o.cpu_offload > 0) {
    text += fmt::format(" cpu-optimizer={:g}{}", o.cpu_offload,
                        o.cpu_offload_overlapped ? ",overlapped" : "");
  }
  return text;
}

// "full:2", "full,unit2", "moe_act,layernorm", "none".
std::string recompute_text(const StageOverride& o) {
  std::string text = o.recompute_full ? "full" : list_of("", o.recompute);
  if (o.recompute_unit > 1) text += fmt::format(",unit{}", o.recompute_unit);
  if (o.recompute_layers > 0) text += fmt::format(":{}", o.recompute_layers);
  return text.empty() ? "none" : text;
}

// " stage0:recompute=full stage1:recompute=none", stages that do the same together.
std::string stages_text(const std::vector<StageOverride>& stages) {
  std::string text;
  for (std::size_t i = 0, end = 0; i < stages.size(); i = end) {
    StageOverride next = stages[i];
    for (end = i; end < stages.size() && stages[end] == next; ++end) ++next.stage;
    text += fmt::format(" stage{}", stages[i].stage);
    if (end - i > 1) text += fmt::format("-{}", stages[end - 1].stage);
    text += ":recompute=" + recompute_text(stages[i]);
    text += list_of(",offload=", stages[i].offload);
  }
  return text;
}

}  // namespace

// Degrees always; of the rest what differs from a plain plan.
std::string summary(const Plan& plan) {
  const AttentionMapping& a = plan.attention;
  const ExpertMapping& e = plan.expert;
  std::string text =
      fmt::format("TP{} CP{} DP{} PP{} VPP{} | ETP{} EP{} EDP{} | mbs{} {} {} {}", a.tp, a.cp, a.dp,
                  a.pp, plan.vpp, e.etp, e.ep, e.edp, plan.micro_batch, name_of(plan.precision),
                  name_of(plan.sharding), name_of(plan.dispatcher));
  if (plan.schedule != PipelineSchedule::one_f_one_b) text += " " + name_of(plan.schedule);
  if (plan.microbatch_group > 0) text += fmt::format(" group{}", plan.microbatch_group);
  if (a.tp > 1 && !plan.sequence_parallel) text += " no-sp";
  if (plan.fsdp_group > 0) text += fmt::format(" shards{}", plan.fsdp_group);
  if (plan.optimizer_instances > 1) {
    text += fmt::format(" instances{}", plan.optimizer_instances);
  }
  if (plan.dispatcher_sms > 0) text += fmt::format(" sms{}", plan.dispatcher_sms);
  if (plan.fp8_dispatch) text += " fp8-dispatch";
  if (plan.fp8_combine) text += " fp8-combine";
  if (a.cp > 1 && plan.cp_comm != CpComm::p2p) text += " cp=" + name_of(plan.cp_comm);
  if (plan.cp_a2a > 0) text += fmt::format(":{}", plan.cp_a2a);
  if (plan.recompute_full) text += " recompute=full";
  if (plan.recompute_unit > 1) text += fmt::format(",unit{}", plan.recompute_unit);
  if (plan.recompute_layers > 0) text += fmt::format(":{}", plan.recompute_layers);
  text += list_of(" recompute=", plan.recompute);
  text += list_of(" offload=", plan.offload);
  if (plan.offload_layers > 0) text += fmt::format(" offload-layers={}", plan.offload_layers);
  text += stages_text(plan.stages);
  if (is_fp8(plan.precision) && !plan.fp8_params) text += " bf16-params";
  if (!plan.flash_attention) text += " no-flash-attention";
  if (plan.fp8_attention) text += " fp8-attention";
  if (plan.fp8_head) text += " fp8-head";
  text += overlap_text(plan.overlap);
  if (plan.cuda_graph != CudaGraph::none) text += " graph=" + name_of(plan.cuda_graph);
  if (plan.paged_stash.buffer > 0) {
    text += fmt::format(" stash={:g}/{:g}", plan.paged_stash.buffer, plan.paged_stash.capacity);
  }
  text += optimizer_text(plan.optimizer);
  if (!plan.layout.empty()) text += " layout=" + plan.layout;
  return text;
}

}  // namespace pleat
