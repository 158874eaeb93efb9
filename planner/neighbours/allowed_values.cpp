// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/allowed_values.hpp"

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/run_settings.hpp"

namespace pleat {
namespace {

template <class T>
bool in(const std::vector<T>& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}
template <class T>
bool pinned_or_in(const std::vector<T>& pins, const T& value) {
  return pins.empty() || in(pins, value);
}
template <class T>
bool pinned_or_in(const Pinned<T>& pins, const T& value) {
  return pinned_or_in(pins.values, value);
}
bool as_pinned(const std::optional<bool>& pin, bool value) { return !pin || *pin == value; }

bool is_interleaved(const Plan& p) {
  return p.vpp > 1 && p.schedule == PipelineSchedule::one_f_one_b;
}

bool allows_mesh(const SearchConfig& c, const Plan& p) {
  const AttentionMapping& a = p.attention;
  const bool plain = p.schedule == PipelineSchedule::one_f_one_b;
  const bool ordered = c.schedule.empty() ? plain || c.runtime == Runtime::pleat
                                          : in(c.schedule, p.schedule) || (plain && a.pp == 1);
  return pinned_or_in(c.tp, a.tp) && pinned_or_in(c.cp, a.cp) && pinned_or_in(c.dp, a.dp) &&
         pinned_or_in(c.pp, a.pp) && pinned_or_in(c.vpp, p.vpp) &&
         pinned_or_in(c.ep, p.expert.ep) && pinned_or_in(c.etp, p.expert.etp) &&
         pinned_or_in(c.micro_batch, p.micro_batch) && pinned_or_in(c.layout, p.layout) &&
         ordered &&
         (is_interleaved(p) ? pinned_or_in(c.microbatch_group, p.microbatch_group)
                            : p.microbatch_group == 0);
}

bool has(const ClusterSpec& cluster, Dispatcher dispatcher) {
  switch (traits_of(dispatcher).needs) {
    case DispatcherNeeds::nothing:
      return true;
    case DispatcherNeeds::fp8:
      return cluster.gpu.peak_fp8.base() > 0 && cluster.shared_cores == 0;
    case DispatcherNeeds::rack:
      return !cluster.tiers.empty() && cluster.tiers.front().size > 8;
  }
  return false;
}

// Numbers of SMs without a rate would seem to cost nothing (Setting::unmeasured_on).
bool allows_sms(const Problem& problem, const SearchConfig& c, const Plan& p) {
  if (!in(c.dispatcher_sms, 0) && !c.dispatcher_sms.empty() && is_fused(p.dispatcher)) {
    return in(c.dispatcher_sms, p.dispatcher_sms);
  }
  if (p.dispatcher_sms == 0) return true;
  const auto& tiers = problem.cluster.tiers;
  const int within = tiers.empty() || tiers.front().size == 0 ? c.gpus : tiers.front().size;
  return p.dispatcher == Dispatcher::deepep && in(c.dispatcher_sms, p.dispatcher_sms) &&
         p.expert.ep * p.expert.etp <= within;
}

// An exchange whose sizes only the device knows would end a graph of the whole iteration: it needs
// HybridEP, or a paged stash.
bool allows_graph(const Problem& problem, const SearchConfig& c, const Plan& p) {
  if (c.cuda_graph) return in(c.cuda_graph.values, p.cuda_graph);
  if (c.runtime == Runtime::pleat) return p.cuda_graph == CudaGraph::none;
  return p.cuda_graph != CudaGraph::full_iteration || !problem.model.moe ||
         p.dispatcher == Dispatcher::hybridep || p.paged_stash.buffer > 0;
}

bool allows_shards(const Problem& problem, const SearchConfig& c, const Plan& p) {
  if (!pinned_or_in(c.sharding, p.sharding)) return false;
  if (!c.sharding && (c.gpus == 1) != (p.sharding == Sharding::none)) return false;
  if (!c.hybrid_sharding) return true;
  Plan as_pinned = p;
  const auto& tiers = problem.cluster.tiers;
  const bool within = *c.hybrid_sharding && !tiers.empty() && tiers.front().size < c.gpus;
  put_shards(p.sharding, within ? tiers.front().size : 0, as_pinned);
  return as_pinned.fsdp_group == p.fsdp_group &&
         as_pinned.optimizer_instances == p.optimizer_instances;
}

bool allows_setting(const Problem& problem, const SearchConfig& c, const Plan& p) {
  const bool dispatches =
      c.dispatcher ? in(c.dispatcher.values, p.dispatcher) : has(problem.cluster, p.dispatcher);
  return dispatches && pinned_or_in(c.cp_comm, p.cp_comm) &&
         (p.cp_comm != CpComm::a2a_p2p || pinned_or_in(c.cp_a2a, p.cp_a2a)) &&
         as_pinned(c.ep_overlap, p.overlap.expert_parallel) &&
         as_pinned(c.delay_wgrad, p.overlap.delay_wgrad) &&
         as_pinned(c.tp_overlap, p.overlap.tensor_parallel) &&
         as_pinned(c.shared_overlap, p.overlap.shared_expert) && allows_sms(problem, c, p) &&
         allows_graph(problem, c, p) && allows_shards(problem, c, p);
}

// Of a plan, or of one of its stages.
template <class Choice>
bool allows_recompute(const SearchConfig& c, const Choice& p) {
  if (!c.recompute_sets.empty()) {
    return in(c.recompute_sets, RecomputeChoice{.modules = p.recompute,
                                                .full = p.recompute_full,
                                                .layers = p.recompute_layers,
                                                .unit = p.recompute_unit});
  }
  if (!p.recompute_full) return c.recompute || p.recompute.empty();
  return c.recompute && pinned_or_in(c.recompute_layers, p.recompute_layers) &&
         (p.recompute_layers > 0 || pinned_or_in(c.recompute_unit, p.recompute_unit));
}

// Offload is Megatron's; for the Pleat runtime only what is pinned.
bool offloads(const SearchConfig& c) { return c.offload && c.runtime == Runtime::megatron; }

template <class Choice>
bool allows_offload(const SearchConfig& c, const Choice& p) {
  if (!c.offload_sets.empty()) return in(c.offload_sets, p.offload);
  return offloads(c) || p.offload.empty();
}

bool allows_layers(const SearchConfig& c, const Plan& p) {
  if (p.offload_layers == 0) return true;
  if (!c.offload_layers.empty()) return in(c.offload_layers, p.offload_layers);
  return offloads(c) && c.offload_sets.empty() && c.recompute_sets.empty();
}

bool allows_state(const SearchConfig& c, const Plan& p) {
  const OptimizerPlan& o = p.optimizer;
  if (c.optimizer_offload.only(true)) return o.state_offload == 1 && o.cpu_offload == 0;
  if (o.state_offload > 0 && !in(c.optimizer_offload.values, true)) return false;
  if (c.cpu_optimizer) return o.cpu_offload == (*c.cpu_optimizer ? 1 : 0);
  return o.cpu_offload == 0 || offloads(c);
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

bool allows(const Problem& problem, const SearchConfig& config, const Plan& plan) {
  return allows_mesh(config, plan) && allows_setting(problem, config, plan) &&
         allows_memory(config, plan);
}

}  // namespace pleat
