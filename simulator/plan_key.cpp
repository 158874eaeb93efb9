// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/plan_key.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "core/plan/rank_map.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

template <std::size_t N>
class Writer {
 public:
  template <class T>
  void put(T value) {
    PLEAT_ASSERT(next_ < N);
    key_.numbers[next_++] = static_cast<std::int32_t>(value);
  }
  template <class Set>
  void put_set(const Set& set) {
    std::uint32_t mask = 0;
    for (const auto member : set) mask |= 1u << static_cast<unsigned>(member);
    put(mask);
  }
  void put_number(double value) {  // every bit of it
    const auto bits = std::bit_cast<std::uint64_t>(value);
    put(static_cast<std::uint32_t>(bits));
    put(static_cast<std::uint32_t>(bits >> 32));
  }
  void put_place(const GroupPlace& place) {
    put(place.size);
    put(place.tier);
    put(place.inside);
  }
  NumberKey<N> key() const { return key_; }

 private:
  NumberKey<N> key_;
  std::size_t next_ = 0;
};

// What a layer without experts does not have makes no difference to it.
std::set<Module> recompute_in(const Plan& plan, bool moe) {
  std::set<Module> modules = plan.recompute;
  if (!moe) {
    for (Module m : {Module::moe_act, Module::shared_experts, Module::moe}) modules.erase(m);
  }
  return modules;
}
std::set<Offload> offload_in(const Plan& plan, bool moe) {
  std::set<Offload> sent = plan.offload;
  if (!moe) {
    for (Offload o : {Offload::expert_fc1, Offload::moe_act}) sent.erase(o);
  }
  return sent;
}

}  // namespace

LayerGroup group_of(const LayerVariant& variant) {
  switch (variant.kind) {
    case LayerKind::embedding:
    case LayerKind::head:
    case LayerKind::recv:
    case LayerKind::send: return LayerGroup::boundary;
    case LayerKind::dense:
      return std::ranges::any_of(variant.more, &UnitLayer::moe) ? LayerGroup::moe
                                                                : LayerGroup::dense;
    case LayerKind::moe: return LayerGroup::moe;
    case LayerKind::mtp: return variant.moe ? LayerGroup::moe : LayerGroup::dense;
  }
  return LayerGroup::moe;
}

LayerKey layer_key(const Plan& plan, const WorkloadSpec& workload, const ClusterView& view,
                   std::optional<LayerGroup> group) {
  Writer<std::tuple_size_v<decltype(LayerKey::numbers)>> w;
  const bool boundary = !group || group == LayerGroup::boundary;
  const bool decoder = group != LayerGroup::boundary;
  const bool moe = !group || group == LayerGroup::moe;
  const auto put_if = [&](bool counts, auto value) { w.put(counts ? static_cast<int>(value) : 0); };
  const auto place = [&](Group g) { return view.groups[static_cast<std::size_t>(g)]; };
  const auto put_place_if = [&](bool counts, Group g) {
    w.put_place(counts ? place(g) : GroupPlace{});
  };
  w.put(group ? static_cast<int>(*group) : -1);
  w.put(plan.micro_batch);
  w.put(plan.sequence_parallel);
  w.put(plan.precision);
  w.put(plan.sharding);
  w.put(plan.cuda_graph);
  w.put(plan.fp8_head);
  w.put(plan.fp8_params);
  // Only sharded gradients and weights are exchanged inside layers.
  const bool by_layer = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  w.put(by_layer ? plan.fsdp_group : 0);
  w.put(plan.overlap.tensor_parallel);
  w.put(plan.schedule);
  w.put(by_layer ? plan.shard_instances() : 1);
  w.put(plan.optimizer.grad_reduce ? static_cast<int>(*plan.optimizer.grad_reduce) : -1);
  w.put(plan.optimizer.main_grads);
  // Decoder layers only.
  w.put_set(decoder ? recompute_in(plan, moe) : std::set<Module>{});
  put_if(decoder, plan.recompute_full);
  w.put_set(decoder ? offload_in(plan, moe) : std::set<Offload>{});
  put_if(decoder, plan.flash_attention);
  put_if(decoder, plan.fp8_attention);
  put_if(decoder, plan.cp_comm);
  put_if(decoder, plan.cp_a2a);
  // MoE layers only; a pair's second half counts for no layer alone.
  put_if(moe, plan.dispatcher);
  put_if(moe, plan.dispatcher_sms);
  put_if(!group, plan.overlap.expert_parallel);
  put_if(!group, plan.overlap.delay_wgrad);
  put_if(moe, plan.overlap.shared_expert);
  put_if(moe, plan.overlap.tile_level);
  put_if(moe, plan.fp8_dispatch);
  put_if(moe, plan.fp8_combine);
  w.put_place(place(Group::tp));
  w.put_place(place(Group::cp));
  put_place_if(moe, Group::ep);
  put_place_if(moe, Group::etp);
  put_place_if(moe, Group::etp_ep);
  put_place_if(decoder, Group::cp_heads);
  put_place_if(decoder, Group::cp_ring);
  put_if(boundary, place(Group::pp_next).tier);
  w.put_place(by_layer ? place(shard_groups(plan, false).shard) : GroupPlace{});
  const GroupPlace edp = by_layer && moe ? place(shard_groups(plan, true).shard) : GroupPlace{};
  w.put(edp.size * 64 + edp.inside);
  w.put(by_layer && plan.overlap.grad_reduce);
  w.put(by_layer && plan.overlap.param_gather);
  w.put_number(plan.paged_stash.buffer);
  w.put_number(plan.paged_stash.capacity);
  // The slowest of so many ranks has the longest documents.
  w.put(workload.documents.empty() ? 0 : plan.attention.dp);
  // Ranks that share cores slow each other down.
  w.put(view.cluster->shared_cores > 0 ? view.ranks : 0);
  return w.key();
}

LayoutKey layout_key(const Plan& plan, int text) {
  return {{text, plan.attention.pp, plan.vpp, plan.recompute_full ? plan.recompute_layers : 0,
           plan.offload_layers, plan.recompute_full ? 1 : 0, static_cast<int>(plan.schedule),
           plan.recompute_unit}};
}

RecordKey record_key(int layers, int layout, int clock, const Plan& plan) {
  Writer<std::tuple_size_v<decltype(RecordKey::numbers)>> w;
  for (const int number : {layers, layout, clock, plan.attention.dp, plan.expert.edp}) w.put(number);
  w.put(plan.overlap.grad_reduce);
  w.put(plan.overlap.param_gather);
  const OptimizerPlan& o = plan.optimizer;
  w.put(o.kind);
  w.put(o.main_params);
  w.put(o.exp_avg);
  w.put(o.exp_avg_sq);
  w.put_number(o.state_offload);
  w.put_number(o.cpu_offload);
  w.put(o.cpu_offload_overlapped);
  w.put(plan.optimizer_instances);
  w.put(plan.microbatch_group);
  return w.key();
}

ScheduleKey schedule_key(const Schedule& s) {
  return {{s.pp, s.vpp, s.microbatches, s.group, s.paired ? 1 : 0, static_cast<int>(s.kind)}};
}

}  // namespace pleat
