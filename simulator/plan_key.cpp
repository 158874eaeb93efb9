// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/plan_key.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <type_traits>

#include "core/diagnostics.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

template <class Key>
class KeyWriter {
 public:
  template <class T>
  void put(T value) {
    PLEAT_ASSERT(next_ < key_.numbers.size());
    key_.numbers[next_++] = static_cast<std::int32_t>(value);
  }
  void put_place(const GroupPlace& place) {
    put(place.size);
    put(place.tier);
    put(place.inside);
  }
  Key key() const {
    PLEAT_ASSERT(next_ == key_.numbers.size());
    return key_;
  }

 private:
  Key key_;
  std::size_t next_ = 0;
};

// A value, or that it does not count. Without experts, modules of theirs make no difference.
template <class Key, class T>
void put_if(KeyWriter<Key>& w, bool counts, const T& value, bool) {
  w.put(counts ? static_cast<std::int32_t>(value) : 0);
}
template <class Key>
void put_if(KeyWriter<Key>& w, bool counts, double value, bool) {  // every bit of it
  const auto bits = counts ? std::bit_cast<std::uint64_t>(value) : 0;
  w.put(static_cast<std::uint32_t>(bits));
  w.put(static_cast<std::uint32_t>(bits >> 32));
}
template <class Key>
void put_if(KeyWriter<Key>& w, bool counts, std::optional<DType> value, bool) {
  w.put(counts && value ? static_cast<int>(*value) : -1);
}
bool is_of_experts(Module m) {
  return m == Module::moe_act || m == Module::shared_experts || m == Module::moe;
}
bool is_of_experts(Offload o) { return o == Offload::expert_fc1 || o == Offload::moe_act; }
template <class Key, class Enum>
void put_if(KeyWriter<Key>& w, bool counts, const std::set<Enum>& values, bool moe) {
  std::uint32_t mask = 0;
  for (const Enum value : values) {
    if (counts && (moe || !is_of_experts(value))) mask |= 1u << static_cast<unsigned>(value);
  }
  w.put(mask);
}

}  // namespace

std::size_t VariantHash::operator()(const LayerVariant& v) const {
  NumberHash hash;
  // Flags and small numbers together.
  const auto add_traits = [&hash](const LayerTraits& t, int flags) {
    hash.add(static_cast<std::int32_t>(t.window), static_cast<std::int32_t>(t.compression));
    hash.add(static_cast<int>(t.mixer) | t.mlp << 8 | t.chunked << 9 | t.sparse << 10 |
                 t.own_indexer << 11,
             flags);
  };
  add_traits(v.traits, static_cast<int>(v.kind) | v.moe << 8 | v.wide << 9 | v.recompute << 10 |
                           v.offload << 11);
  hash.add(v.depth, v.loads);
  for (const UnitLayer& next : v.more) {
    add_traits(next.traits, next.moe);
    hash.add(next.loads);
  }
  return hash.value();
}

LayerGroup group_of(const LayerVariant& variant) {
  if (variant.traits.mixer == Mixer::none && variant.more.empty()) {
    if (variant.kind == LayerKind::dense) return LayerGroup::mlp;
    if (variant.kind == LayerKind::moe) return LayerGroup::experts;
  }
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
  KeyWriter<LayerKey> w;
  const bool boundary = !group || group == LayerGroup::boundary;
  const bool decoder = group != LayerGroup::boundary;
  const bool moe = !group || group == LayerGroup::moe || group == LayerGroup::experts;
  const bool mixers = decoder && group != LayerGroup::mlp && group != LayerGroup::experts;
  // Only sharded gradients and weights are exchanged inside layers.
  const bool by_layer = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    constexpr MemoParts parts = field.parts;
    if constexpr (is_of_layers(parts)) {
      const bool counts = parts.has(MemoPart::layers) ||
                          (parts.has(MemoPart::decoder_layers) && decoder) ||
                          (parts.has(MemoPart::moe_layers) && moe) ||
                          (parts.has(MemoPart::mixers) && mixers) ||
                          (parts.has(MemoPart::sharded_layers) && by_layer) ||
                          (parts.has(MemoPart::pairs) && !group);
      put_if(w, counts, field.in(plan), moe);
    }
  });
  const auto place = [&](Group g) { return view.groups[static_cast<std::size_t>(g)]; };
  const auto put_place_if = [&](bool counts, Group g) {
    w.put_place(counts ? place(g) : GroupPlace{});
  };
  w.put(group ? static_cast<int>(*group) : -1);
  w.put(by_layer ? plan.shard_instances() : 1);
  w.put_place(place(Group::tp));
  w.put_place(place(Group::cp));
  put_place_if(moe, Group::ep);
  put_place_if(moe, Group::etp);
  put_place_if(moe, Group::etp_ep);
  put_place_if(mixers, Group::cp_heads);
  put_place_if(mixers, Group::cp_ring);
  w.put_place(boundary ? place(Group::pp_next) : GroupPlace{});  // nobody is next without stages
  w.put_place(by_layer ? place(shard_groups(plan, false).shard) : GroupPlace{});
  const GroupPlace edp = by_layer && moe ? place(shard_groups(plan, true).shard) : GroupPlace{};
  w.put(edp.size * 64 + edp.inside);
  // The slowest of so many ranks has the longest documents.
  w.put(workload.documents.empty() ? 0 : plan.attention.dp);
  // Ranks that share cores slow each other down.
  w.put(view.cluster->shared_cores > 0 ? view.ranks : 0);
  return w.key();
}

LayoutKey layout_key(const Plan& plan, int text) {
  KeyWriter<LayoutKey> w;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.parts.has(MemoPart::composition)) {
      using Value = typename std::remove_cvref_t<decltype(field)>::Value;
      if constexpr (std::is_same_v<Value, std::string>) w.put(text);  // which stands for it
      else put_if(w, true, field.in(plan), true);
    }
  });
  return w.key();
}

RecordKey record_key(int layers, int layout, int clock, const Plan& plan) {
  KeyWriter<RecordKey> w;
  for (const int number : {layers, layout, clock}) w.put(number);
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.parts.has(MemoPart::records)) put_if(w, true, field.in(plan), true);
  });
  return w.key();
}

ScheduleKey schedule_key(const Schedule& s) {
  return {{s.pp, s.vpp, s.microbatches, s.group, s.paired ? 1 : 0, static_cast<int>(s.kind)}};
}

}  // namespace pleat
