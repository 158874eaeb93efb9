// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a row of the table of a plan's fields says (plan_table.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/dtype.hpp"
#include "core/json/object_reader.hpp"
#include "core/plan/numerics.hpp"
#include "core/plan/plan.hpp"

namespace pleat {

// Parts of an estimate that are remembered (simulator/plan_key). A row names those that depend on
// its field; one that it forgets is taken from the memory of another plan: a wrong price.
enum class MemoPart : std::uint8_t {
  places,          // which ranks talk, and over which links: degrees
  layers,          // programs and prices of all layers
  decoder_layers,  // but not of embedding, head, send and receive
  moe_layers,      // of layers with experts
  mixers,          // of decoder layers but of their MLPs and experts
  sharded_layers,  // of layers whose weights or gradients are sharded
  pairs,           // two passes of layers beside each other
  composition,     // which layers a chunk holds, and its recompute and offload of whole ones
  records          // step operations and state of stages
};
struct MemoParts {
  std::uint32_t bits;
  constexpr MemoParts(MemoPart part) : bits(1u << static_cast<unsigned>(part)) {}
  constexpr explicit MemoParts(std::uint32_t all) : bits(all) {}
  [[nodiscard]] constexpr bool has(MemoPart part) const {
    return (bits & MemoParts(part).bits) != 0;
  }
};
[[nodiscard]] constexpr MemoParts operator|(MemoParts a, MemoPart b) {
  return MemoParts(a.bits | MemoParts(b).bits);
}
[[nodiscard]] constexpr MemoParts operator|(MemoPart a, MemoPart b) { return MemoParts(a) | b; }
inline constexpr MemoParts kNoMemo{0u};  // is read anew for each plan

// Who chooses the value where `pleat plan` looks for the best plan.
enum class ChosenBy : std::uint8_t {
  gpus = 1,  // nobody: it follows from the GPUs and the other degrees
  search,    // the search, among values that a pin may name
  fixed,     // nobody: a search leaves the default, or takes what is pinned
  numerics   // who asks: it changes numbers (numerics.hpp), several values are a search each
};

// How it is given on a command line; without a flag only together with another field.
struct TypedAs {
  // "--tp 2". A switch that is on where nobody says otherwise is typed with "no-" before it.
  std::string_view flag = {};
  std::string_view help = {};  // {} stands for the words of the choice: "none, zero1 or zero2"
  std::string_view search_help = {};  // where `pleat plan` says it in other words
};

// How `pleat plan` takes the only values that a search may choose: "--tp 1,2", a pin. Without help
// there is none of this field alone.
struct PinnedAs {
  std::string_view help = {};     // {} stands for the words of the choice: "none, zero1 and zero2"
  std::string_view flag = {};     // where TypedAs has none
  int least = 1, most = 1 << 24;  // of a number
  bool of_memory = false;  // only saves memory: whether a mesh is valid does not depend on it
};

// How a search that is free to choose the value goes about it.
enum class TriedAs : std::uint8_t {
  by_rules,    // planner/space says which values a model and a cluster allow
  each_value,  // with all else that a setting says, the value of a plain plan first
  each_timing,  // the same, and no value changes what is computed, sent or kept: bounds look at one
  when_pinned   // the values of a pin; without one that of a plain plan
};

// Types of numbers, those first that a command line offers.
struct DTypes {
  std::array<DType, 5> types{};
  std::size_t count = 0, offered = 0;
};
struct AnyValue {};  // that the type has

template <class T>
struct DomainOf { using Type = AnyValue; };
template <>
struct DomainOf<int> { using Type = IntRange; };
template <>
struct DomainOf<double> { using Type = DoubleRange; };
template <>
struct DomainOf<DType> { using Type = DTypes; };
template <>
struct DomainOf<std::optional<DType>> { using Type = DTypes; };
template <class Enum>
struct DomainOf<std::set<Enum>> { using Type = std::size_t; };  // the first so many may be in it

template <class>
struct MemberOf;
template <class Owner_, class Value_>
struct MemberOf<Value_ Owner_::*> {
  using Owner = Owner_;
  using Value = Value_;
};

// Domains of several rows.
inline constexpr IntRange kDegree{1, 1 << 20};
inline constexpr IntRange kDegreeOrNone{0, 1 << 20};
inline constexpr IntRange kLayersOrAll{0, 1 << 16};
inline constexpr IntRange kBucketElements{0, 2'000'000'000};
inline constexpr DTypes kMomentTypes{{DType::fp32, DType::bf16, DType::fp16, DType::fp8}, 4, 4};
inline constexpr DTypes kWireTypes{{DType::fp32, DType::bf16}, 2, 2};

// `Members`: the way to the field, &Plan::optimizer, &OptimizerPlan::kind.
template <auto... Members>
struct PlanField {
  static constexpr auto kMember = std::get<sizeof...(Members) - 1>(std::tuple{Members...});
  using Owner = typename MemberOf<std::remove_const_t<decltype(kMember)>>::Owner;
  using Value = typename MemberOf<std::remove_const_t<decltype(kMember)>>::Value;
  static constexpr bool kNested = sizeof...(Members) > 1;

  std::string_view path;  // in a plan file, "optimizer.kind"
  typename DomainOf<Value>::Type domain{};
  MemoParts parts;
  ChosenBy chosen_by;
  TypedAs typed = {};
  PinnedAs pinned = {};
  TriedAs tried = TriedAs::by_rules;
  Value Numerics::*numerics = nullptr;       // the same field of them; the optimizer's are found
  Value StageOverride::*by_stage = nullptr;  // a stage may have its own
  bool in_summary = false;  // a switch that the summary tells by its flag; others it words itself

  template <class P>
  [[nodiscard]] static constexpr decltype(auto) in(P&& plan) {
    return ((plan .* ... .* Members));
  }
  template <class N>
  [[nodiscard]] constexpr auto& in_numerics(N& all) const {
    if constexpr (kNested) return all.optimizer.*kMember;
    else return all.*numerics;
  }
  // "tp"; of a switch that is on in a plain plan "no-fp8-params".
  [[nodiscard]] std::string typed_name() const {
    bool on = false;
    if constexpr (std::is_same_v<Value, bool>) on = in(Plan());
    return (on ? "no-" : "") + std::string(typed.flag);
  }
  [[nodiscard]] constexpr bool may_be_pinned() const { return !pinned.help.empty(); }
  [[nodiscard]] constexpr std::string_view pin_flag() const {  // "tp"
    return pinned.flag.empty() ? typed.flag : pinned.flag;
  }
  [[nodiscard]] constexpr std::string_view group() const {  // "optimizer", or empty
    return kNested ? path.substr(0, path.find('.')) : std::string_view();
  }
  [[nodiscard]] constexpr std::string_view key() const {
    return kNested ? path.substr(path.find('.') + 1) : path;
  }
};

}  // namespace pleat
