// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan's fields to JSON and back, row by row of their table.
#include "core/plan/plan_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json/parse.hpp"
#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"
#include "core/plan/stage_override.hpp"

namespace pleat {
namespace {

constexpr IntRange kStage{0, (1 << 20) - 1};

JsonValue write_value(int value) { return value; }
JsonValue write_value(bool value) { return value; }
JsonValue write_value(double value) { return value; }
JsonValue write_value(const std::string& value) { return value; }
JsonValue write_value(DType value) { return name_of(value); }
template <class Enum>
requires std::is_enum_v<Enum> JsonValue write_value(Enum value) { return word_of(value); }
template <class Enum>
JsonValue write_value(const std::set<Enum>& values) {
  JsonValue list = JsonValue::array();
  for (const Enum value : values) list.push_back(name_of(value));
  return list;
}
JsonValue write_value(const std::vector<StageOverride>& stages) {
  JsonValue list = JsonValue::array();
  for (const StageOverride& s : stages) {
    JsonValue one = JsonValue::object();
    one.set("stage", s.stage);
    for_each_plan_field([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      if constexpr (field.by_stage != nullptr) {
        one.set(std::string(field.path), write_value(s.*field.by_stage));
      }
    });
    list.push_back(std::move(one));
  }
  return list;
}

void read_value(ObjectReader& r, const std::string& key, IntRange range, int& value) {
  if (const auto found = r.optional_integer(key, range)) value = static_cast<int>(*found);
}
void read_value(ObjectReader& r, const std::string& key, DoubleRange range, double& value) {
  value = r.optional_number(key, range).value_or(value);
}
void read_value(ObjectReader& r, const std::string& key, AnyValue, bool& value) {
  value = r.optional_boolean(key).value_or(value);
}
void read_value(ObjectReader& r, const std::string& key, AnyValue, std::string& value) {
  value = r.optional_text(key).value_or(value);
}
template <class Enum>
requires std::is_enum_v<Enum>
void read_value(ObjectReader& r, const std::string& key, AnyValue, Enum& value) {
  static const std::vector<std::string> words = words_of<Enum>();
  if (const auto index = r.optional_choice(key, words)) {
    value = static_cast<Enum>(*index);
  }
}
template <class Type>  // DType, absent or not
void read_value(ObjectReader& r, const std::string& key, const DTypes& allowed, Type& value) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < allowed.count; ++i) names.emplace_back(name_of(allowed.types[i]));
  if (const auto index = r.optional_choice(key, names)) value = allowed.types[*index];
}
// The key says what the listed modules are for, "recompute".
template <class Enum>
void read_value(ObjectReader& r, const std::string& verb, std::size_t count,
                std::set<Enum>& values) {
  const JsonValue::Array* items = r.optional_array(verb);
  if (items == nullptr) return;
  values.clear();
  const std::vector<std::string> names = words_of<Enum>(count);
  for (std::size_t i = 0; i < items->size(); ++i) {
    const JsonValue& item = (*items)[i];
    const std::string* name = item.as_string();
    const auto found = name ? std::find(names.begin(), names.end(), *name) : names.end();
    if (found != names.end()) {
      if (values.insert(static_cast<Enum>(found - names.begin())).second) continue;
    }
    const std::string near = name ? nearest_name(*name, names) : "";
    const ReaderContext context = r.context();
    context.problems.error(
        ExitCode::bad_file, where_of(context.file_name, item.position()),
        fmt::format("{}[{}]", r.path_of(verb), i),
        found != names.end() ? fmt::format("{} is listed twice", *name)
                             : fmt::format("{} is no module to {}{}", item.brief(), verb,
                                           near.empty() ? "" : "; did you mean " + near + "?"),
        fmt::format("allowed: {}", fmt::join(names, ", ")));
  }
}

// What a stage does not say is as the plan's; of the plan that has been read before.
void read_stages(ObjectReader& r, Plan& p) {
  r.each_optional_object("stages", [&](ObjectReader one) {
    StageOverride s = override_of(p, Stage{static_cast<int>(one.integer("stage", kStage))});
    for_each_plan_field([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      if constexpr (field.by_stage != nullptr) {
        read_value(one, std::string(field.path), field.domain, s.*field.by_stage);
      }
    });
    one.finish();
    p.stages.push_back(std::move(s));
  });
}

// One row; of the two mappings, which a plan has to have, every degree.
template <std::size_t I>
void read_field(ObjectReader& r, Plan& plan) {
  constexpr const auto& field = kPlanField<I>;
  using Field = std::remove_cvref_t<decltype(field)>;
  const std::string key(field.key());
  if constexpr (std::is_same_v<typename Field::Value, std::vector<StageOverride>>) {
    read_stages(r, plan);
  } else if constexpr (field.parts.has(MemoPart::places)) {
    field.in(plan) = static_cast<int>(r.integer(key, field.domain));
  } else {
    read_value(r, key, field.domain, field.in(plan));
  }
}

}  // namespace

JsonValue write_plan(const Plan& p) {
  JsonValue out = JsonValue::object();
  std::string_view group;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if (field.group() != group) {
      group = field.group();
      if (!group.empty()) out.set(std::string(group), JsonValue::object());
    }
    JsonValue& place = group.empty() ? out : out.mutable_members().back().value;
    const auto& value = field.in(p);
    if constexpr (requires { value.has_value(); }) {
      if (value) place.set(std::string(field.key()), write_value(*value));
    } else {
      place.set(std::string(field.key()), write_value(value));
    }
  });
  return out;
}

Plan read_plan(ObjectReader r) {
  Plan p;
  std::string_view group;
  std::optional<ObjectReader> within;
  const auto open = [&](std::string_view next) {
    if (within) within->finish();
    within.reset();
    group = next;
    if (next.empty()) return;
    const std::string key(next);
    const bool required = next == "attention" || next == "expert";
    if (required) within.emplace(r.object(key));
    else if (auto found = r.optional_object(key)) within.emplace(std::move(*found));
  };
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if (field.group() != group) open(field.group());
    if (group.empty()) read_field<i>(r, p);
    else if (within) read_field<i>(*within, p);
  });
  open("");
  r.finish();
  return p;
}

std::vector<NumericsValue> read_numerics(ObjectReader r) {
  std::vector<NumericsValue> values;
  std::optional<ObjectReader> optimizer = r.optional_object("optimizer");
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    if constexpr (field.chosen_by == ChosenBy::numerics) {
      if (!field.group().empty() && !optimizer) return;
      ObjectReader& within = field.group().empty() ? r : *optimizer;
      Plan plan;
      read_field<i>(within, plan);
      if (!within.has(std::string(field.key()))) return;
      values.push_back({i, numerics_of(plan)});
    }
  });
  if (optimizer) optimizer->finish();
  r.finish();
  return values;
}

}  // namespace pleat
