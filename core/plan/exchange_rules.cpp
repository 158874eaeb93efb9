// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of what ranks exchange: overlap with tensor-parallel and shared-expert work, context
// parallelism over heads, token capacity (Megatron-LM transformer_config.py,
// arguments.py; TransformerEngine's a2a context parallelism).
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/dispatcher_traits.hpp"

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
  return !c.plan.overlap.shared_expert || traits_of(c.plan.dispatcher).overlaps;
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

// --- context parallelism over heads: each rank takes a part of the heads, and of the kv groups or,
// where there are fewer, one that several ranks hold (TransformerEngine has no such copies)
std::int64_t local_heads(const PlanContext& c) {
  return std::max<std::int64_t>(1, c.model.attention.heads / c.plan.attention.tp);
}
std::int64_t local_groups(const PlanContext& c) {
  const AttentionSpec& a = c.model.attention;
  const std::int64_t groups = a.kind == AttentionKind::gqa ? a.kv_groups : a.heads;
  return std::max<std::int64_t>(1, groups / c.plan.attention.tp);
}
// Ranks that share the heads.
std::int64_t head_ranks(const PlanContext& c) {
  switch (c.plan.cp_comm) {
    case CpComm::all_to_all: return c.plan.attention.cp;
    case CpComm::a2a_p2p: return std::max(1, c.plan.cp_a2a);
    case CpComm::p2p:
    case CpComm::all_gather: return 1;
  }
  return 1;
}
bool cp_heads_hold(const PlanContext& c) {
  if (!degrees_positive(c)) return true;
  const std::int64_t ranks = head_ranks(c), groups = local_groups(c);
  return local_heads(c) % ranks == 0 && (groups % ranks == 0 || ranks % groups == 0);
}
Violation explain_cp_heads(const PlanContext& c) {
  return {"", "cp_comm",
          fmt::format("{} splits heads, but {} heads in {} kv groups of a TP rank cannot be split "
                      "over {} ranks",
                      name_of(c.plan.cp_comm), local_heads(c), local_groups(c), head_ranks(c)),
          "p2p or all_gather"};
}

bool cp_groups_hold(const PlanContext& c) {
  if (!degrees_positive(c)) return true;
  const int cp = c.plan.attention.cp, inner = c.plan.cp_a2a;
  if (c.plan.cp_comm != CpComm::a2a_p2p) return inner == 0;
  return inner > 1 && inner < cp && cp % inner == 0;
}
Violation explain_cp_groups(const PlanContext& c) {
  if (c.plan.cp_comm != CpComm::a2a_p2p) {
    return {"", "cp_a2a",
            fmt::format("groups of {} need cp_comm a2a+p2p, it is {}", c.plan.cp_a2a,
                        name_of(c.plan.cp_comm)),
            "0"};
  }
  return {"", "cp_a2a",
          fmt::format("CP {} cannot be split into several groups of {} ranks", c.plan.attention.cp,
                      c.plan.cp_a2a),
          fmt::format("a divisor of CP above 1 and below CP: {}",
                      divisors_up_to(c.plan.attention.cp, c.plan.attention.cp - 1))};
}

// --- context parallelism of selected or compressed keys: every rank gathers them all
// (transformer_config.py:3170)
bool selects_keys(const LayerTraits& t) { return t.sparse || t.compression > 0; }
bool cp_selected_keys_hold(const PlanContext& c) {
  const ModelSpec& m = c.model;
  return c.plan.attention.cp <= 1 || c.plan.cp_comm == CpComm::all_gather ||
         (!selects_keys(m.mtp_traits) && std::ranges::none_of(m.layer_traits, selects_keys));
}
Violation explain_cp_selected_keys(const PlanContext& c) {
  return {"", "cp_comm",
          fmt::format("attention over selected keys gathers the keys of all ranks, cp_comm is {}",
                      name_of(c.plan.cp_comm)),
          "all_gather"};
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
  return !c.workload.pad_to_capacity || traits_of(c.plan.dispatcher).pads_to_capacity;
}
Violation explain_capacity_dispatcher(const PlanContext&) {
  return {"", "dispatcher", "deepep does not pad experts to a capacity", "alltoall or hybridep"};
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
  list.push_back({"cp-selected-keys", cp_selected_keys_hold, explain_cp_selected_keys});
  list.push_back({"capacity-padding", capacity_pad_holds, explain_capacity_pad});
  list.push_back({"capacity-dispatcher", capacity_dispatcher_holds, explain_capacity_dispatcher});
  list.push_back({"cp-groups", cp_groups_hold, explain_cp_groups});
}

}  // namespace pleat::rules
