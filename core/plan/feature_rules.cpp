// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of the techniques: what excludes what (Megatron-LM transformer_config.py and arguments.py).
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/dispatcher_traits.hpp"

namespace pleat::rules {
namespace {

// --- sequence parallelism under experts
bool moe_tp_holds(const PlanContext& c) {
  return c.plan.attention.tp <= 1 || c.plan.expert.ep <= 1 || c.plan.sequence_parallel;
}
Violation explain_moe_tp(const PlanContext& c) {
  return {"", "sequence_parallel",
          fmt::format("TP {} with EP {} needs sequence parallelism", c.plan.attention.tp,
                      c.plan.expert.ep),
          "turn sequence_parallel on, or TP 1"};
}

// --- expert-parallel overlap
bool overlap_ep_holds(const PlanContext& c) {
  return !c.plan.overlap.expert_parallel || c.plan.expert.ep > 1;
}
Violation explain_overlap_ep(const PlanContext& c) {
  return {"", "overlap.expert_parallel",
          fmt::format("overlap of expert-parallel communication needs EP > 1, EP is {}",
                      c.plan.expert.ep),
          ""};
}

bool overlap_vpp_holds(const PlanContext& c) {
  return !c.plan.overlap.expert_parallel || c.plan.attention.pp <= 1 || c.plan.vpp > 1 ||
         c.plan.schedule != PipelineSchedule::one_f_one_b;
}
Violation explain_overlap_vpp(const PlanContext& c) {
  return {"", "overlap.expert_parallel",
          fmt::format("overlap of expert-parallel communication with PP {} needs VPP > 1",
                      c.plan.attention.pp),
          "plain 1F1B has no forward to pair with a backward of another microbatch"};
}

bool overlap_recompute_holds(const PlanContext& c) {
  return !c.plan.overlap.expert_parallel ||
         (!c.plan.recompute_full && !c.plan.recompute.contains(Module::moe));
}
Violation explain_overlap_recompute(const PlanContext& c) {
  return {"", "recompute",
          fmt::format("{} recompute excludes overlap of expert-parallel communication",
                      c.plan.recompute_full ? "full" : "whole-moe"),
          "modules inside the MoE layer can be recomputed: moe_act shared_experts"};
}

bool overlap_dispatcher_holds(const PlanContext& c) {
  return !c.plan.overlap.expert_parallel || traits_of(c.plan.dispatcher).overlaps;
}
Violation explain_overlap_dispatcher(const PlanContext&) {
  return {"", "dispatcher",
          "overlap of expert-parallel communication excludes the allgather dispatcher",
          "alltoall, deepep or hybridep"};
}

bool delay_wgrad_holds(const PlanContext& c) {
  return !c.plan.overlap.delay_wgrad || c.plan.overlap.expert_parallel;
}
Violation explain_delay_wgrad(const PlanContext&) {
  return {"", "overlap.delay_wgrad", "delayed weight gradients need overlap.expert_parallel", ""};
}

// --- recompute
bool recomputable_holds(const PlanContext& c) {
  return c.plan.recompute.empty() || *c.plan.recompute.rbegin() <= Module::moe;
}
Violation explain_recomputable(const PlanContext& c) {
  return {"", "recompute",
          fmt::format("{} cannot be recomputed", name_of(*c.plan.recompute.rbegin())),
          "allowed: layernorm mla_up_proj core_attn mlp moe_act shared_experts moe"};
}

bool recompute_once_holds(const PlanContext& c) {
  return !c.plan.recompute_full || c.plan.recompute.empty();
}
Violation explain_recompute_once(const PlanContext& c) {
  return {"", "recompute",
          fmt::format("full recompute already contains {}", name_of(*c.plan.recompute.begin())),
          "recompute_full, or a list of modules"};
}

// A recomputed module that the model does not have.
const char* absent_module(const PlanContext& c) {
  for (const Module m : c.plan.recompute) {
    if (m == Module::mla_up_proj && c.model.attention.kind != AttentionKind::mla)
      return "mla_up_proj";
    if (m == Module::moe_act && !c.model.moe) return "moe_act";
    if (m == Module::moe && !c.model.moe) return "moe";
    if (m == Module::shared_experts && (!c.model.moe || c.model.moe->shared_ffn == 0)) {
      return "shared_experts";
    }
  }
  return nullptr;
}
bool recompute_present_holds(const PlanContext& c) { return absent_module(c) == nullptr; }
Violation explain_recompute_present(const PlanContext& c) {
  return {"", "recompute", fmt::format("{} has no {} to recompute", c.model.name, absent_module(c)),
          ""};
}

bool recompute_graph_holds(const PlanContext& c) {
  return !c.plan.recompute_full || !captures_parts(c.plan.cuda_graph);
}
Violation explain_recompute_graph(const PlanContext&) {
  return {"", "cuda_graph", "full recompute excludes partial CUDA graphs",
          "none or full_iteration"};
}

bool recompute_moe_graph_holds(const PlanContext& c) {
  return !c.plan.recompute.contains(Module::moe) || !captures_router(c.plan.cuda_graph);
}
Violation explain_recompute_moe_graph(const PlanContext&) {
  return {"", "cuda_graph", "whole-moe recompute excludes partial CUDA graphs (the router's)",
          "none, attention or full_iteration"};
}

// --- sharding
bool sharding_holds(const PlanContext& c) {
  return c.plan.attention.pp <= 1 ||
         (c.plan.sharding != Sharding::zero2 && c.plan.sharding != Sharding::zero3);
}
Violation explain_sharding(const PlanContext& c) {
  return {"", "sharding",
          fmt::format("{} needs PP 1, PP is {}: gradients would be reduced once per microbatch",
                      name_of(c.plan.sharding), c.plan.attention.pp),
          "none or zero1 with a pipeline"};
}

// --- output projection and loss in parts
std::int64_t loss_rows(const PlanContext& c) {  // tokens of a microbatch on a context shard
  return product(c.workload.seq_len, c.plan.micro_batch) / std::max(1, c.plan.attention.cp);
}
bool loss_chunks_hold(const PlanContext& c) {
  return c.plan.loss_chunks == 1 ||
         (c.plan.loss_chunks > 1 && loss_rows(c) % c.plan.loss_chunks == 0);
}
Violation explain_loss_chunks(const PlanContext& c) {
  if (c.plan.loss_chunks < 1) {
    return {"", "loss_chunks", fmt::format("must be at least 1, is {}", c.plan.loss_chunks), ""};
  }
  return {"", "loss_chunks",
          fmt::format("the {} tokens of a microbatch cannot be cut into {} equal parts",
                      loss_rows(c), c.plan.loss_chunks),
          fmt::format("divisors up to {}: {}", c.plan.loss_chunks,
                      divisors_up_to(loss_rows(c), c.plan.loss_chunks))};
}

}  // namespace

void append_feature_rules(std::vector<Constraint>& list) {
  list.push_back({"tp-experts-need-sequence-parallel", moe_tp_holds, explain_moe_tp});
  list.push_back({"ep-overlap-needs-ep", overlap_ep_holds, explain_overlap_ep});
  list.push_back({"ep-overlap-needs-interleaving", overlap_vpp_holds, explain_overlap_vpp});
  list.push_back({"ep-overlap-recompute", overlap_recompute_holds, explain_overlap_recompute});
  list.push_back({"ep-overlap-dispatcher", overlap_dispatcher_holds, explain_overlap_dispatcher});
  list.push_back({"delay-wgrad-needs-overlap", delay_wgrad_holds, explain_delay_wgrad});
  list.push_back({"recompute-modules", recomputable_holds, explain_recomputable});
  list.push_back({"recompute-once", recompute_once_holds, explain_recompute_once});
  list.push_back({"recompute-present", recompute_present_holds, explain_recompute_present});
  list.push_back({"recompute-graph", recompute_graph_holds, explain_recompute_graph});
  list.push_back({"recompute-moe-graph", recompute_moe_graph_holds, explain_recompute_moe_graph});
  list.push_back({"sharding-pipeline", sharding_holds, explain_sharding});
  list.push_back({"loss-chunks", loss_chunks_hold, explain_loss_chunks});
}

}  // namespace pleat::rules
