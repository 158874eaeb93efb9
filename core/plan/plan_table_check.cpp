// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A field of a plan without a row in the table does not compile: members are counted against rows.
#include "core/plan/plan_table.hpp"

namespace pleat {
namespace {

// Stands for a value of any type where only the number of members is asked for.
struct AnyMember {
  template <class T>
  operator T();
  operator std::optional<DType>();  // which an optional would make of a DType otherwise
};

template <class Struct, class... Found>
consteval std::size_t member_count() {
  if constexpr (requires { Struct{Found()..., AnyMember()}; }) {
    return member_count<Struct, Found..., AnyMember>();
  } else {
    return sizeof...(Found);
  }
}

// Rows of the fields that `Struct` itself has; of a plan also the structs in it.
template <class Struct>
consteval std::size_t row_count() {
  std::size_t count = 0;
  std::string_view group;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Field = std::remove_cvref_t<decltype(field)>;
    const bool own = std::is_same_v<typename Field::Owner, Struct>;
    const bool first_of_group = std::is_same_v<Struct, Plan> && field.group() != group;
    if (own || (first_of_group && Field::kNested)) ++count;
    group = field.group();
  });
  return count;
}

consteval std::size_t count_by_stage() {
  std::size_t count = 0;
  for_each_plan_field([&](auto i) { count += kPlanField<i>.by_stage != nullptr; });
  return count;
}

// Number formats: the optimizer as a whole, and as many fields as rows point to.
consteval std::size_t count_numerics() {
  std::size_t count = 1;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Owner = typename std::remove_cvref_t<decltype(field)>::Owner;
    const bool chosen = field.chosen_by == ChosenBy::numerics;
    if (chosen && !std::is_same_v<Owner, OptimizerPlan>) count += field.numerics != nullptr;
  });
  return count;
}

consteval bool all_say_who_chooses() {
  bool all = true;
  for_each_plan_field([&](auto i) { all = all && kPlanField<i>.chosen_by != ChosenBy{}; });
  return all;
}

static_assert(all_say_who_chooses());
static_assert(row_count<AttentionMapping>() == member_count<AttentionMapping>());
static_assert(row_count<ExpertMapping>() == member_count<ExpertMapping>());
static_assert(row_count<OverlapFlags>() == member_count<OverlapFlags>());
static_assert(row_count<Fusions>() == member_count<Fusions>());
static_assert(row_count<PagedStash>() == member_count<PagedStash>());
static_assert(row_count<OptimizerPlan>() == member_count<OptimizerPlan>());
static_assert(row_count<Plan>() == member_count<Plan>());
static_assert(count_numerics() == member_count<Numerics>());
static_assert(count_by_stage() + 1 == member_count<StageOverride>(), "and the stage's number");

}  // namespace
}  // namespace pleat
