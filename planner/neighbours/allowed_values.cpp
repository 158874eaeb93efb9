// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/allowed_values.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "core/plan/dispatcher_traits.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/dispatcher_choices.hpp"
#include "planner/space/placement_choices.hpp"
#include "planner/space/shard_sets.hpp"

namespace pleat {
namespace {

template <class List, class T>
bool in(const List& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}
template <class T>
bool pinned_or_in(const Pinned<T>& pin, const T& value) {
  return pin.empty() || in(pin, value);
}

bool is_interleaved(const Plan& p) {
  return p.vpp > 1 && p.schedule == PipelineSchedule::one_f_one_b;
}

bool allows_mesh(const SearchConfig& c, const Plan& p) {
  const AttentionMapping& a = p.attention;
  const bool plain = p.schedule == PipelineSchedule::one_f_one_b;
  const auto& orders = c.pin<"schedule">();
  const bool ordered = orders.empty() ? plain || c.runtime == Runtime::pleat
                                      : in(orders, p.schedule) || (plain && a.pp == 1);
  return pinned_or_in(c.pin<"tp">(), a.tp) && pinned_or_in(c.pin<"cp">(), a.cp) &&
         pinned_or_in(c.pin<"dp">(), a.dp) && pinned_or_in(c.pin<"pp">(), a.pp) &&
         pinned_or_in(c.pin<"vpp">(), p.vpp) && pinned_or_in(c.pin<"ep">(), p.expert.ep) &&
         pinned_or_in(c.pin<"etp">(), p.expert.etp) && allows_placement(c, p.expert) &&
         pinned_or_in(c.pin<"micro-batch">(), p.micro_batch) &&
         pinned_or_in(c.pin<"layout">(), p.layout) && ordered &&
         (is_interleaved(p) ? pinned_or_in(c.pin<"microbatch-group">(), p.microbatch_group)
                            : p.microbatch_group == 0);
}

// Numbers of SMs without a rate would seem to cost nothing (Setting::exchanges_too_far_on).
bool allows_sms(const Problem& problem, const SearchConfig& c, const Plan& p) {
  const auto& pin = c.pin<"dispatcher-sms">();
  if (!in(pin, 0) && !pin.empty() && is_fused(p.dispatcher)) {
    return in(pin, p.dispatcher_sms);
  }
  if (p.dispatcher_sms == 0) return true;
  const auto& tiers = problem.cluster.tiers;
  const int within = tiers.empty() || tiers.front().size == 0 ? c.gpus : tiers.front().size;
  return p.dispatcher == Dispatcher::deepep && in(pin, p.dispatcher_sms) &&
         p.expert.ep * p.expert.etp <= within;
}

bool allows_graph(const SearchConfig& c, const Plan& p) {
  if (const auto& pin = c.pin<"cuda-graph">()) return in(pin, p.cuda_graph);
  return c.runtime == Runtime::megatron || p.cuda_graph == CudaGraph::none;
}

bool allows_shards(const Problem& problem, const SearchConfig& c, const Plan& p) {
  if (!pinned_or_in(c.pin<"sharding">(), p.sharding)) return false;
  if (!c.pin<"sharding">() && (c.gpus == 1) != (p.sharding == Sharding::none)) return false;
  if (!c.hybrid_sharding) return true;
  Plan as_pinned = p;
  const auto& tiers = problem.cluster.tiers;
  const bool within = *c.hybrid_sharding && !tiers.empty() && tiers.front().size < c.gpus;
  put_shards(p.sharding, within ? tiers.front().size : 0, as_pinned);
  return as_pinned.fsdp_group == p.fsdp_group &&
         as_pinned.optimizer_instances == p.optimizer_instances;
}

// Switches that a search chooses, and what it tries without a rule.
bool allows_switches(const SearchConfig& c, const Plan& p) {
  bool allowed = true;
  for_each_pin([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    constexpr bool chosen = field.chosen_by == ChosenBy::search && std::is_same_v<Value, bool>;
    if constexpr (chosen || field.tried != TriedAs::by_rules) {
      allowed = allowed && pinned_or_in(std::get<i>(c.pins.by_row), field.in(p));
    }
  });
  return allowed;
}

bool allows_setting(const Problem& problem, const SearchConfig& c, const Plan& p) {
  const auto& pin = c.pin<"dispatcher">();
  const bool dispatches =
      pin ? in(pin, p.dispatcher) : has_dispatcher(problem, c.runtime, p.dispatcher);
  return dispatches && pinned_or_in(c.pin<"cp-comm">(), p.cp_comm) &&
         (p.cp_comm != CpComm::a2a_p2p || pinned_or_in(c.pin<"cp-a2a">(), p.cp_a2a)) &&
         allows_switches(c, p) && allows_sms(problem, c, p) && allows_graph(c, p) &&
         allows_shards(problem, c, p);
}

// Of a plan, or of one of its stages.
template <class Choice>
bool allows_recompute(const SearchConfig& c, const Choice& p) {
  if (!c.recompute_sets.empty()) {
    return in(c.recompute_sets, recompute_of(p));
  }
  if (!p.recompute_full) return c.recompute || p.recompute.empty();
  return c.recompute && pinned_or_in(c.pin<"recompute-layers">(), p.recompute_layers) &&
         (p.recompute_layers > 0 || pinned_or_in(c.pin<"recompute-unit">(), p.recompute_unit));
}

template <class Choice>
bool allows_offload(const SearchConfig& c, const Choice& p) {
  if (!c.offload_sets.empty()) return in(c.offload_sets, p.offload);
  return c.offload || p.offload.empty();
}

bool allows_layers(const SearchConfig& c, const Plan& p) {
  if (p.offload_layers == 0) return true;
  if (const auto& pin = c.pin<"offload-layers">()) return in(pin, p.offload_layers);
  return c.offload && c.offload_sets.empty() && c.recompute_sets.empty();
}

bool allows_state(const SearchConfig& c, const Plan& p) {
  const OptimizerPlan& o = p.optimizer;
  if (c.optimizer_offload.only(true)) return o.state_offload == c.host_share && o.cpu_offload == 0;
  if (o.state_offload > 0 && !state_may_come_back(c)) return false;
  if (c.cpu_optimizer) return o.cpu_offload == (*c.cpu_optimizer ? c.host_share : 0);
  return o.cpu_offload == 0 || c.offload;
}

bool allows_memory(const SearchConfig& c, const Plan& p) {
  if (!allows_recompute(c, p) || !allows_offload(c, p) || !allows_layers(c, p)) return false;
  if (!p.stages.empty() && (!by_stage(c) || !c.recompute_sets.empty() || !c.offload_sets.empty())) {
    return false;
  }
  for (const StageOverride& s : p.stages) {
    if (!allows_recompute(c, s) || !allows_offload(c, s)) return false;
  }
  return allows_state(c, p);
}

}  // namespace

bool has_dispatcher(const Problem& problem, Runtime runtime, Dispatcher dispatcher) {
  const bool runs = runtime == Runtime::pleat || traits_of(dispatcher).in_megatron;
  return runs && has_dispatcher(problem.cluster, dispatcher);
}

bool state_may_come_back(const SearchConfig& c) {
  if (c.optimizer_offload.empty()) return c.runtime == Runtime::pleat && c.offload;
  return in(c.optimizer_offload.values, true);
}

bool allows(const Problem& problem, const SearchConfig& config, const Plan& plan) {
  return allows_mesh(config, plan) && allows_setting(problem, config, plan) &&
         allows_memory(config, plan);
}

}  // namespace pleat
