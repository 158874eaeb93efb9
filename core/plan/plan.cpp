// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Names of a plan's choices and its one-line summary.
#include "core/plan/plan.hpp"

#include <fmt/format.h>

#include "core/plan/plan_parts.hpp"
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
std::string name_of(ExpertPlacement p) { return std::string(word_of(p)); }
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

// Collects the words of a summary.
class PartList {
 public:
  void add(PlanTopic topic, std::string text) { parts_.push_back({topic, std::move(text)}); }
  void add_if(bool there, PlanTopic topic, std::string text) {
    if (there) add(topic, std::move(text));
  }
  // Belongs to the word before it.
  void append(const std::string& text) { parts_.back().text += text; }
  [[nodiscard]] std::vector<PlanPart> take() { return std::move(parts_); }

 private:
  std::vector<PlanPart> parts_;
};

void add_overlap(const OverlapFlags& f, PartList& list) {
  list.add_if(f.expert_parallel, PlanTopic::exchange, "ep-overlap");
  list.add_if(f.delay_wgrad, PlanTopic::exchange, "delay-wgrad");
  list.add_if(f.gather_beside_step, PlanTopic::exchange, "gather-beside-step");
  list.add_if(f.tensor_parallel, PlanTopic::exchange, "tp-overlap");
  list.add_if(f.shared_expert, PlanTopic::exchange, "shared-overlap");
  list.add_if(f.tile_level, PlanTopic::exchange, "tile-overlap");
}

// What is not AdamW in fp32 on the GPU: "muon grads=bf16".
void add_optimizer(const OptimizerPlan& o, PartList& list) {
  list.add_if(o.kind != OptimizerKind::adamw, PlanTopic::formats, name_of(o.kind));
  const auto add = [&list](const char* name, DType type) {
    if (type != DType::fp32)
      list.add(PlanTopic::formats, fmt::format("{}={}", name, name_of(type)));
  };
  add("grads", o.main_grads);
  add("params", o.main_params);
  add("exp-avg", o.exp_avg);
  add("exp-avg-sq", o.exp_avg_sq);
  if (o.grad_reduce) {
    list.add(PlanTopic::formats, fmt::format("grad-reduce={}", name_of(*o.grad_reduce)));
  }
  if (o.state_offload > 0) {
    list.add(PlanTopic::memory, fmt::format("state-offload={:g}", o.state_offload));
  }
  if (o.cpu_offload > 0) {
    list.add(PlanTopic::memory, fmt::format("cpu-optimizer={:g}{}", o.cpu_offload,
                                            o.cpu_offload_overlapped ? ",overlapped" : ""));
  }
}

// "full:2", "full,unit2", "moe_act,layernorm", "none".
std::string recompute_text(const StageOverride& o) {
  std::string text = o.recompute_full ? "full" : list_of("", o.recompute);
  if (o.recompute_unit > 1) text += fmt::format(",unit{}", o.recompute_unit);
  if (o.recompute_layers > 0) text += fmt::format(":{}", o.recompute_layers);
  return text.empty() ? "none" : text;
}

// "stage0:recompute=full", "stage1-2:recompute=none": stages that do the same together.
void add_stages(const std::vector<StageOverride>& stages, PartList& list) {
  for (std::size_t i = 0, end = 0; i < stages.size(); i = end) {
    StageOverride next = stages[i];
    for (end = i; end < stages.size() && stages[end] == next; ++end) ++next.stage;
    std::string text = fmt::format("stage{}", stages[i].stage);
    if (end - i > 1) text += fmt::format("-{}", stages[end - 1].stage);
    text += ":recompute=" + recompute_text(stages[i]);
    text += list_of(",offload=", stages[i].offload);
    list.add(PlanTopic::memory, text);
  }
}

}  // namespace

// Degrees always; of the rest what differs from a plain plan.
std::vector<PlanPart> plan_parts(const Plan& plan) {
  using enum PlanTopic;
  const AttentionMapping& a = plan.attention;
  const ExpertMapping& e = plan.expert;
  PartList list;
  const auto degree = [&list](PlanTopic topic, const char* name, int value) {
    list.add(topic, fmt::format("{}{}", name, value));
  };
  degree(parallel, "TP", a.tp);
  degree(parallel, "CP", a.cp);
  degree(parallel, "DP", a.dp);
  degree(parallel, "PP", a.pp);
  degree(parallel, "VPP", plan.vpp);
  degree(experts, "ETP", e.etp);
  degree(experts, "EP", e.ep);
  degree(experts, "EDP", e.edp);
  list.add_if(e.placement != ExpertPlacement::in_order, experts, name_of(e.placement));
  if (e.redundant > 0) degree(experts, "redundant", e.redundant);
  degree(batch, "mbs", plan.micro_batch);
  list.add(formats, name_of(plan.precision));
  list.add(memory, name_of(plan.sharding));
  list.add(exchange, name_of(plan.dispatcher));
  list.add_if(plan.schedule != PipelineSchedule::one_f_one_b, run, name_of(plan.schedule));
  if (plan.microbatch_group > 0) degree(batch, "group", plan.microbatch_group);
  list.add_if(a.tp > 1 && !plan.sequence_parallel, parallel, "no-sp");
  if (plan.fsdp_group > 0) degree(memory, "shards", plan.fsdp_group);
  if (plan.optimizer_instances > 1) degree(memory, "instances", plan.optimizer_instances);
  if (plan.loss_chunks > 1) degree(memory, "loss-chunks=", plan.loss_chunks);
  if (plan.ddp_bucket_size > 0) degree(exchange, "bucket", plan.ddp_bucket_size);
  if (plan.dispatcher_sms > 0) degree(exchange, "sms", plan.dispatcher_sms);
  list.add_if(plan.fp8_dispatch, exchange, "fp8-dispatch");
  list.add_if(plan.fp8_combine, exchange, "fp8-combine");
  list.add_if(a.cp > 1 && plan.cp_comm != CpComm::p2p, exchange, "cp=" + name_of(plan.cp_comm));
  if (plan.cp_a2a > 0) list.append(fmt::format(":{}", plan.cp_a2a));
  list.add_if(plan.recompute_full, memory, "recompute=full");
  if (plan.recompute_unit > 1) list.append(fmt::format(",unit{}", plan.recompute_unit));
  if (plan.recompute_layers > 0) list.append(fmt::format(":{}", plan.recompute_layers));
  list.add_if(!plan.recompute.empty(), memory, list_of("recompute=", plan.recompute));
  list.add_if(!plan.offload.empty(), memory, list_of("offload=", plan.offload));
  if (plan.offload_layers > 0) degree(memory, "offload-layers=", plan.offload_layers);
  add_stages(plan.stages, list);
  list.add_if(is_fp8(plan.precision) && !plan.fp8_params, formats, "bf16-params");
  list.add_if(!plan.flash_attention, run, "no-flash-attention");
  list.add_if(plan.fp8_attention, formats, "fp8-attention");
  list.add_if(plan.fp8_head, formats, "fp8-head");
  add_overlap(plan.overlap, list);
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.in_summary) {
      list.add_if(field.in(plan) != field.in(Plan()), exchange, field.typed_name());
    }
  });
  list.add_if(plan.cuda_graph != CudaGraph::none, run, "graph=" + name_of(plan.cuda_graph));
  if (plan.paged_stash.buffer > 0) {
    list.add(memory,
             fmt::format("stash={:g}/{:g}", plan.paged_stash.buffer, plan.paged_stash.capacity));
  }
  add_optimizer(plan.optimizer, list);
  list.add_if(!plan.layout.empty(), PlanTopic::layout, "layout=" + plan.layout);
  return list.take();
}

std::string summary(const Plan& plan) {
  const std::vector<PlanPart> parts = plan_parts(plan);
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool experts_begin_or_end = i > 0 && (parts[i].topic == PlanTopic::experts) !=
                                                   (parts[i - 1].topic == PlanTopic::experts);
    text += (i == 0 ? "" : experts_begin_or_end ? " | " : " ") + parts[i].text;
  }
  return text;
}

}  // namespace pleat
