// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/neighbours/plan_change.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "core/plan/plan_fields.hpp"
#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"
#include "core/plan/stage_override.hpp"

namespace pleat {
namespace {

constexpr int kEveryNumberTo = 64;

template <class T>
inline constexpr bool kIsSet = false;
template <class Enum>
inline constexpr bool kIsSet<std::set<Enum>> = true;

// Text and lists of stages have no number; their fields are not changed as a whole.
template <class T>
inline constexpr bool kHasNumber = std::is_arithmetic_v<T> || std::is_enum_v<T> || kIsSet<T>;

template <class T>
double number_of(const T& value) {
  return static_cast<double>(value);
}
template <class Enum>
double number_of(const std::set<Enum>& values) {
  std::uint32_t mask = 0;
  for (const Enum value : values) mask |= 1u << static_cast<unsigned>(value);
  return mask;
}

template <class T>
void put_number(double number, T& value) {
  if constexpr (std::is_same_v<T, bool>)
    value = number != 0;
  else if constexpr (std::is_enum_v<T>)
    value = static_cast<T>(static_cast<int>(number));
  else
    value = static_cast<T>(number);
}
template <class Enum>
void put_number(double number, std::set<Enum>& values) {
  values.clear();
  const auto mask = static_cast<std::uint32_t>(number);
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) != 0) values.insert(static_cast<Enum>(i));
  }
}

// Calls visit with the row's number as a constant.
template <class Visit>
void visit_row(std::size_t row, Visit&& visit) {
  for_each_plan_field([&](auto i) {
    if (i == row) visit(i);
  });
}

StageOverride& own_of(Plan& plan, int stage) {
  const auto at = std::ranges::lower_bound(plan.stages, stage, {}, &StageOverride::stage);
  if (at != plan.stages.end() && at->stage == stage) return *at;
  return *plan.stages.insert(at, override_of(plan, Stage{stage}));
}

// The row's values beside `now`.
template <class Field, class T>
void other_values(const Field& field, const T& now, const std::vector<int>& whole_numbers,
                  std::vector<double>& values) {
  const double own = number_of(now);
  const auto add = [&](double value) {
    if (value != own) values.push_back(value);
  };
  if constexpr (std::is_same_v<T, bool>) {
    add(1 - own);
  } else if constexpr (std::is_enum_v<T>) {
    for (const T value : kAll<T>) add(number_of(value));
  } else if constexpr (std::is_same_v<T, int>) {
    for (const int n : whole_numbers) {
      if (n >= field.domain.min && n <= field.domain.max) add(n);
    }
  } else if constexpr (std::is_same_v<T, double>) {
    add(field.domain.min);
    add(field.domain.max);
    add(kLeastShare);
  } else {
    const auto mask = static_cast<std::uint32_t>(own);
    for (std::size_t i = 0; i < field.domain; ++i) add(mask ^ (1u << i));
    if (std::popcount(mask) != 1) add(0);
  }
}

}  // namespace

bool is_near(const PlanChange& change, const Plan& from) {
  bool near = true;
  visit_row(change.row, [&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (std::is_same_v<Value, int>) {
      const int now = field.in(from), value = static_cast<int>(change.value);
      near = value <= 2 || value == 4 || value == 8 || value == 2 * now || 2 * value == now ||
             std::abs(value - now) == 1;
    }
  });
  return near;
}

bool is_of_degrees(const PlanChange& change) {
  bool of_degrees = false;
  visit_row(change.row, [&](auto i) {
    of_degrees = kPlanField<i>.parts.has(MemoPart::places);
  });
  return of_degrees;
}

void put(const PlanChange& change, Plan& plan) {
  visit_row(change.row, [&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (kHasNumber<Value>) {
      if (change.stage < 0) {
        put_number(change.value, field.in(plan));
      } else if constexpr (field.by_stage != nullptr) {
        put_number(change.value, own_of(plan, change.stage).*field.by_stage);
      }
    }
  });
}

std::vector<PlanChange> changes_of(const Plan& plan, bool by_stage,
                                   const std::vector<int>& whole_numbers) {
  std::vector<PlanChange> changes;
  std::vector<double> values;
  const auto add = [&](std::size_t row, int stage) {
    for (const double value : values) {
      changes.push_back({static_cast<std::uint8_t>(row), static_cast<std::int16_t>(stage), value});
    }
    values.clear();
  };
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (field.chosen_by == ChosenBy::search && kHasNumber<Value>) {
      other_values(field, field.in(plan), whole_numbers, values);
      add(i, -1);
      if constexpr (field.by_stage != nullptr && !std::is_same_v<Value, int>) {
        for (int s = 0; by_stage && plan.attention.pp > 1 && s < plan.attention.pp; ++s) {
          const auto own = std::ranges::find(plan.stages, s, &StageOverride::stage);
          const Value& now = own != plan.stages.end() ? (*own).*field.by_stage : field.in(plan);
          other_values(field, now, whole_numbers, values);
          add(i, s);
        }
      }
    }
  });
  return changes;
}

std::vector<PlanChange> wider_changes_of_sets(const Plan& plan) {
  std::vector<PlanChange> changes;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    if constexpr (field.chosen_by == ChosenBy::search && kIsSet<Value>) {
      const auto mask = static_cast<std::uint32_t>(number_of(field.in(plan)));
      for (std::size_t a = 0; a < field.domain; ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const std::uint32_t other = mask ^ (1u << a) ^ (1u << b);
          changes.push_back({static_cast<std::uint8_t>(i), -1, static_cast<double>(other)});
        }
      }
    }
  });
  return changes;
}

std::vector<int> whole_numbers_of(const Problem& problem, int gpus) {
  std::vector<int> numbers;
  for (int n = 0; n <= kEveryNumberTo; ++n) numbers.push_back(n);
  const std::int64_t experts = problem.model.moe ? problem.model.moe->experts : 0;
  for (const std::int64_t whole : {std::int64_t{gpus}, problem.workload.global_batch, experts,
                                   static_cast<std::int64_t>(problem.model.layers)}) {
    for (std::int64_t d = 1; d * d <= whole; ++d) {
      if (whole % d != 0) continue;
      for (const std::int64_t n : {d, whole / d}) {
        if (n <= (1 << 20)) numbers.push_back(static_cast<int>(n));
      }
    }
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

std::vector<FieldDifference> differences(const Plan& from, const Plan& to) {
  std::vector<FieldDifference> list;
  const JsonValue before = write_plan(from), after = write_plan(to);
  const auto text_of = [](const JsonValue& plan, const auto& field) {
    const JsonValue* place = &plan;
    if (!field.group().empty()) place = plan.find(std::string(field.group()));
    const JsonValue* value = place == nullptr ? nullptr : place->find(std::string(field.key()));
    if (value == nullptr) return std::string();
    if (const std::string* text = value->as_string()) return *text;
    std::string text = value->dump();
    std::erase_if(text, [](char c) { return c == '"' || c == ' ' || c == '\n'; });
    return text;
  };
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if (field.chosen_by != ChosenBy::search || field.in(from) == field.in(to)) return;
    list.push_back({std::string(field.path), text_of(before, field), text_of(after, field)});
  });
  return list;
}

}  // namespace pleat
