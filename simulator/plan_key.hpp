// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What of a plan the parts of an estimate depend on, as plain numbers that hash and compare fast.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/plan/plan_table.hpp"
#include "core/program/pipeline_order.hpp"
#include "core/program/stage_composition.hpp"
#include "core/spec/workload.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

template <std::size_t N>
struct NumberKey {
  std::array<std::int32_t, N> numbers{};
  bool operator==(const NumberKey&) const = default;
};
// Two numbers at a time.
class NumberHash {
 public:
  void add(std::int32_t a, std::int32_t b = 0) {
    const std::uint64_t both = std::uint64_t{static_cast<std::uint32_t>(a)} << 32;
    hash_ = (hash_ ^ both ^ static_cast<std::uint32_t>(b)) * 0xD6E8FEB86659FD93u;
    hash_ ^= hash_ >> 32;
  }
  [[nodiscard]] std::size_t value() const { return static_cast<std::size_t>(hash_); }

 private:
  std::uint64_t hash_ = 0x9E3779B97F4A7C15u;
};
struct KeyHash {
  template <std::size_t N>
  std::size_t operator()(const NumberKey<N>& key) const {
    NumberHash hash;
    for (std::size_t i = 0; i + 1 < N; i += 2) hash.add(key.numbers[i], key.numbers[i + 1]);
    if constexpr (N % 2 == 1) hash.add(key.numbers[N - 1]);
    return hash.value();
  }
};

struct VariantHash {
  std::size_t operator()(const LayerVariant&) const;
};

// Layers that depend on the same fields of a plan. Boundary: embedding, head, send and receive; MoE
// and dense: decoder layers, those of multi-token prediction included; MLP and experts: decoder
// layers that mix no tokens, or the half of a layer after its mixer.
enum class LayerGroup : std::uint8_t { boundary, dense, moe, mlp, experts };
inline constexpr std::size_t kLayerGroups = 5;
[[nodiscard]] LayerGroup group_of(const LayerVariant&);

[[nodiscard]] constexpr bool is_of_layers(MemoParts parts) {
  return parts.has(MemoPart::layers) || parts.has(MemoPart::decoder_layers) ||
         parts.has(MemoPart::moe_layers) || parts.has(MemoPart::mixers) ||
         parts.has(MemoPart::sharded_layers) || parts.has(MemoPart::pairs);
}

// Numbers of the fields of which `holds` is true of their parts.
template <class Holds>
consteval std::size_t numbers_of_fields(Holds holds) {
  std::size_t count = 0;
  for_each_plan_field([&](auto i) {
    using Value = typename std::remove_cvref_t<decltype(kPlanField<i>)>::Value;
    if (holds(kPlanField<i>.parts)) count += std::is_same_v<Value, double> ? 2 : 1;
  });
  return count;
}

// Everything that the programs and prices of layers depend on: fields of the plan, and where the
// groups lie that layers talk over. Of all layers, or of one group.
using LayerKey = NumberKey<numbers_of_fields(is_of_layers) + 32>;
[[nodiscard]] LayerKey layer_key(const Plan&, const WorkloadSpec&, const ClusterView&,
                                 std::optional<LayerGroup> group = {});

// What the composition of stages takes from the plan; `text`: a number that stands for the layout.
using LayoutKey = NumberKey<numbers_of_fields(
    [](MemoParts parts) { return parts.has(MemoPart::composition); })>;
[[nodiscard]] LayoutKey layout_key(const Plan&, int text);

// What the records of all stages of a plan depend on. `layers` and `layout` stand for a LayerKey
// and a composition.
using RecordKey = NumberKey<numbers_of_fields(
    [](MemoParts parts) { return parts.has(MemoPart::records); }) + 3>;
[[nodiscard]] RecordKey record_key(int layers, int layout, int clock, const Plan&);

// All there is to the order of slots.
using ScheduleKey = NumberKey<6>;
[[nodiscard]] ScheduleKey schedule_key(const Schedule&);

}  // namespace pleat
