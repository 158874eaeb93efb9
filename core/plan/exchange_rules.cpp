// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of what ranks exchange: overlap with tensor-parallel and shared-expert work, context
// parallelism over heads, token capacity, shard groups (Megatron-LM transformer_config.py,
// arguments.py; TransformerEngine's a2a context parallelism).
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/constraint_rules.hpp"

namespace pleat::rules {
namespace {

// --- tensor-parallel overlap
bool tp_overlap_holds(const PlanContext& c) {
  return !c.plan.overlap.tensor_parallel ||
         (c.plan.attention.tp > 1 && c.plan.sequence_parallel);
}
Violation explain_tp_overlap(const PlanContext& c) {
  return {"", "overlap.tensor_parallel",
          c.plan.attention.tp > 1
              ? "overlap of tensor-parallel communication needs sequence parallelism"
              : fmt::format("overlap of tensor-parallel communication needs TP > 1, TP is {}",
                            c.plan.attention.tp),
          ""};
}

// --- shared-expert overlap
bool shared_present_holds(const PlanContext& c) {
  return !c.plan.overlap.shared_expert || (c.model.moe && c.model.moe->shared_ffn > 0);
}
Violation explain_shared_present(const PlanContext& c) {
  return {"", "overlap.shared_expert",
          fmt::format("{} has no shared expert to overlap", c.model.name), ""};
}

bool shared_dispatcher_holds(const PlanContext& c) {
  return !c.plan.overlap.shared_expert || c.plan.dispatcher != Dispatcher::allgather;
}
Violation explain_shared_dispatcher(const PlanContext&) {
  return {"", "dispatcher", "overlap of the shared expert excludes the allgather dispatcher",
          "alltoall, deepep or hybridep"};
}

bool shared_ep_overlap_holds(const PlanContext& c) {
  return !c.plan.overlap.shared_expert || !c.plan.overlap.expert_parallel;
}
Violation explain_shared_ep_overlap(const PlanContext&) {
  return {"", "overlap.shared_expert",
          "overlap of the shared expert excludes overlap of expert-parallel communication",
          "the latter hides the shared expert too"};
}

bool shared_recompute_holds(const PlanContext& c) {
  return !c.plan.overlap.shared_expert || !c.plan.recompute.contains(Module::shared_experts);
}
Violation explain_shared_recompute(const PlanContext&) {
  return {"", "recompute", "shared_experts recompute excludes overlap.shared_expert", ""};
}

// --- context parallelism over heads: each rank takes a part of the heads and of the kv groups
std::int64_t local_groups(const PlanContext& c) {
  const AttentionSpec& a = c.model.attention;
  const std::int64_t groups = a.kind == AttentionKind::gqa ? a.kv_groups : a.heads;
  return std::max<std::int64_t>(1, groups / c.plan.attention.tp);
}
bool cp_heads_hold(const PlanContext& c) {
  if (!degrees_positive(c) || c.plan.cp_comm != CpComm::all_to_all) return true;
  return local_groups(c) % c.plan.attention.cp == 0;
}
Violation explain_cp_heads(const PlanContext& c) {
  return {"", "cp_comm",
          fmt::format("all_to_all splits heads, but {} kv heads of a TP rank cannot be split over "
                      "CP {}",
                      local_groups(c), c.plan.attention.cp),
          "p2p or all_gather"};
}

// --- token capacity
bool capacity_pad_holds(const PlanContext& c) {
  return !c.workload.pad_to_capacity || c.workload.capacity_factor > 0;
}
Violation explain_capacity_pad(const PlanContext&) {
  return {"", "workload.pad_to_capacity", "padding to capacity needs a capacity factor",
          "capacity_factor 1.0"};
}

bool capacity_dispatcher_holds(const PlanContext& c) {
  return !c.workload.pad_to_capacity || c.plan.dispatcher != Dispatcher::deepep;
}
Violation explain_capacity_dispatcher(const PlanContext&) {
  return {"", "dispatcher", "deepep does not pad experts to a capacity", "alltoall or hybridep"};
}

// --- shard groups
bool shards_parameters(const Plan& p) {
  return p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
}
bool fsdp_group_holds(const PlanContext& c) {
  if (c.plan.fsdp_group == 0 || !degrees_positive(c)) return true;
  const std::int64_t ranks = product(c.plan.attention.dp, c.plan.attention.cp);
  return c.plan.fsdp_group > 0 && shards_parameters(c.plan) && ranks % c.plan.fsdp_group == 0;
}
Violation explain_fsdp_group(const PlanContext& c) {
  if (c.plan.fsdp_group < 0) {
    return {"", "fsdp_group", fmt::format("must be at least 0 (0: all), is {}", c.plan.fsdp_group),
            ""};
  }
  if (!shards_parameters(c.plan)) {
    return {"", "fsdp_group",
            fmt::format("a shard group of {} needs zero2 or zero3, sharding is {}",
                        c.plan.fsdp_group, name_of(c.plan.sharding)),
            ""};
  }
  const std::int64_t ranks = product(c.plan.attention.dp, c.plan.attention.cp);
  return {"", "fsdp_group",
          fmt::format("DP*CP = {} ranks cannot be split into shard groups of {}", ranks,
                      c.plan.fsdp_group),
          fmt::format("divisors up to {}: {}", c.plan.fsdp_group,
                      divisors_up_to(ranks, c.plan.fsdp_group))};
}

}  // namespace

void append_exchange_rules(std::vector<Constraint>& list) {
  list.push_back({"tp-overlap", tp_overlap_holds, explain_tp_overlap});
  list.push_back({"shared-overlap-present", shared_present_holds, explain_shared_present});
  list.push_back({"shared-overlap-dispatcher", shared_dispatcher_holds,
                  explain_shared_dispatcher});
  list.push_back({"shared-overlap-ep-overlap", shared_ep_overlap_holds,
                  explain_shared_ep_overlap});
  list.push_back({"shared-overlap-recompute", shared_recompute_holds, explain_shared_recompute});
  list.push_back({"cp-heads", cp_heads_hold, explain_cp_heads});
  list.push_back({"capacity-padding", capacity_pad_holds, explain_capacity_pad});
  list.push_back({"capacity-dispatcher", capacity_dispatcher_holds, explain_capacity_dispatcher});
  list.push_back({"fsdp-group", fsdp_group_holds, explain_fsdp_group});
}

}  // namespace pleat::rules
