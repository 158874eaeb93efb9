// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Names of a plan's choices and its one-line summary.
#include "core/plan/plan.hpp"

#include <fmt/format.h>

#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"

namespace pleat {

std::string name_of(Precision p) { return std::string(word_of(p)); }
std::string name_of(Sharding s) { return std::string(word_of(s)); }
std::string name_of(Dispatcher d) { return std::string(word_of(d)); }
std::string name_of(CudaGraph g) { return std::string(word_of(g)); }
std::string name_of(CpComm c) { return std::string(word_of(c)); }
std::string name_of(PipelineSchedule s) { return std::string(word_of(s)); }
std::string name_of(OptimizerKind k) { return std::string(word_of(k)); }
std::string name_of(Offload o) { return std::string(word_of(o)); }
std::string name_of(Module m) { return std::string(word_of(m)); }

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
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.in_summary) {
      if (field.in(plan) != field.in(Plan())) text += " " + field.typed_name();
    }
  });
  if (plan.cuda_graph != CudaGraph::none) text += " graph=" + name_of(plan.cuda_graph);
  if (plan.paged_stash.buffer > 0) {
    text += fmt::format(" stash={:g}/{:g}", plan.paged_stash.buffer, plan.paged_stash.capacity);
  }
  text += optimizer_text(plan.optimizer);
  if (!plan.layout.empty()) text += " layout=" + plan.layout;
  return text;
}

}  // namespace pleat
