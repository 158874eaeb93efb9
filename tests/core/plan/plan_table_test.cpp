// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every field of a plan is written and read, told apart by == and by the summary, and described by
// the schema of plan files as its row describes it. A new field is tested by its row alone.
#include "core/plan/plan_table.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/plan_fields.hpp"
#include "tests/support/plan_mutation.hpp"

namespace pleat {
namespace {

constexpr int kTimes = 20;  // each field, with other values

// A plan of which each field says something in the summary.
Plan telling_plan() {
  Plan plan;
  plan.attention = {.tp = 2, .cp = 4, .dp = 8, .pp = 2};
  plan.precision = Precision::fp8;
  plan.recompute_full = true;
  plan.cp_comm = CpComm::a2a_p2p;
  plan.cp_a2a = 2;
  plan.paged_stash = {.buffer = 1.1, .capacity = 1.5};
  plan.optimizer.cpu_offload = 0.5;
  plan.stages = {{.stage = 1, .recompute = {Module::mlp}, .offload = {}}};
  return plan;
}

// plan, and plan with one field changed: visit(path, before, after).
template <class Visit>
void for_each_change(const Plan& plan, Visit visit) {
  std::mt19937 random(3);
  test::PlanMutation mutation(random);
  for_each_plan_field([&](auto i) {
    for (int n = 0; n < kTimes; ++n) {
      Plan other = plan;
      mutation.change<i>(other);
      visit(std::string(kPlanField<i>.path), plan, other);
    }
  });
}

Plan read_again(const Plan& plan) {
  const std::string name = "plan.json";
  Diagnostics problems;
  const JsonValue root = parse_json(write_plan(plan).dump(), name);
  Plan read = read_plan(ObjectReader(root, "plan", {name, problems}));
  problems.throw_if_errors();
  return read;
}

TEST(PlanTable, EveryFieldIsWrittenAndReadAndCompared) {
  for_each_change(telling_plan(), [](const std::string& path, const Plan& plan, const Plan& other) {
    SCOPED_TRACE(path);
    EXPECT_NE(plan, other);
    EXPECT_EQ(read_again(other), other);
  });
}

TEST(PlanTable, EveryFieldIsInTheSummary) {
  for_each_change(telling_plan(), [](const std::string& path, const Plan& plan, const Plan& other) {
    EXPECT_NE(summary(plan), summary(other)) << path;
  });
}

// Number formats hold what changes numbers, and nothing else.
TEST(PlanTable, NumericsAreTheFieldsThatChangeNumbers) {
  std::mt19937 random(5);
  test::PlanMutation mutation(random);
  for_each_plan_field([&](auto i) {
    const Plan plan;
    Plan changed = plan, again = plan;
    mutation.change<i>(changed);
    numerics_of(changed).put_into(again);
    EXPECT_EQ(again == changed, kPlanField<i>.chosen_by == ChosenBy::numerics)
        << kPlanField<i>.path;
  });
}

// Every member of a written plan, "optimizer.kind", is that of a row, in order.
TEST(PlanTable, FilesHaveTheNamesOfTheRows) {
  Plan plan;
  plan.optimizer.grad_reduce = DType::bf16;
  std::vector<std::string> written, rows;
  const JsonValue file = write_plan(plan);
  for (const JsonMember& member : file.members()) {
    if (!member.value.is_object()) written.push_back(member.key);
    for (const JsonMember& inner : member.value.members()) {
      written.push_back(member.key + "." + inner.key);
    }
  }
  for_each_plan_field([&](auto i) { rows.emplace_back(kPlanField<i>.path); });
  EXPECT_EQ(written, rows);
}

TEST(PlanTable, FlagsAreTypedOnce) {
  std::set<std::string_view> flags;
  for_each_plan_field([&](auto i) {
    const TypedAs& typed = kPlanField<i>.typed;
    EXPECT_EQ(typed.flag.empty(), typed.help.empty()) << kPlanField<i>.path;
    EXPECT_TRUE(typed.flag.empty() || flags.insert(typed.flag).second) << typed.flag;
  });
}

// --- the schema of plan files

JsonValue described(IntRange range) {
  return JsonValue::object().set("type", "integer").set("minimum", range.min).set("maximum",
                                                                                  range.max);
}
JsonValue described(DoubleRange range) {
  return JsonValue::object().set("type", "number").set("minimum", range.min).set("maximum",
                                                                                 range.max);
}
JsonValue one_of(const std::vector<std::string>& words) {
  JsonValue list = JsonValue::array();
  for (const std::string& word : words) list.push_back(word);
  return JsonValue::object().set("enum", std::move(list));
}
JsonValue described(const DTypes& types) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < types.count; ++i) words.emplace_back(name_of(types.types[i]));
  return one_of(words);
}

// What the schema has to say of a field, but for `stages`.
template <std::size_t I>
JsonValue description() {
  constexpr const auto& field = kPlanField<I>;
  using Value = typename std::remove_cvref_t<decltype(field)>::Value;
  if constexpr (std::is_same_v<Value, bool>) return JsonValue::object().set("type", "boolean");
  else if constexpr (std::is_same_v<Value, std::string>)
    return JsonValue::object().set("type", "string");
  else if constexpr (requires { typename Value::key_type; })
    return JsonValue::object()
        .set("type", "array")
        .set("items", one_of(words_of<typename Value::key_type>(field.domain)))
        .set("uniqueItems", true);
  else if constexpr (std::is_enum_v<Value> && !std::is_same_v<Value, DType>)
    return one_of(words_of<Value>());
  else return described(field.domain);
}

// Numbers as numbers: a schema may say 1000000.0 or 1000000.
std::string plain(JsonValue value) {
  if (const double* number = value.as_double()) return JsonValue(*number).dump(0);
  if (const std::int64_t* number = value.as_integer())
    return JsonValue(static_cast<double>(*number)).dump(0);
  std::string text;
  for (const JsonMember& member : value.members())
    text += member.key + ":" + plain(member.value) + ";";
  for (const JsonValue& item : value.items()) text += plain(item) + ",";
  return text.empty() ? value.dump(0) : text;
}

const JsonValue& at(const JsonValue& value, const std::string& key) {
  const JsonValue* found = value.find(key);
  static const JsonValue none;
  return found == nullptr ? none : *found;
}

TEST(PlanTable, TheSchemaOfPlanFilesAgrees) {
  const std::string file = config_directory() + "/schema/plan.schema.json";
  const JsonValue schema = parse_json(read_text_file(file), file);
  const JsonValue& definitions = at(schema, "$defs");
  const JsonValue& fields = at(at(definitions, "plan"), "properties");
  const auto resolved = [&](const JsonValue& said) {
    return said.find("$ref") == nullptr ? said : at(definitions, "degree");
  };
  std::size_t described_fields = 0;
  for (const JsonMember& member : fields.members()) {
    const JsonValue* inner = member.value.find("properties");
    described_fields += inner == nullptr ? 1 : inner->members().size();
  }
  EXPECT_EQ(described_fields, kPlanFieldCount);
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    const JsonValue& place =
        field.group().empty() ? fields : at(at(fields, std::string(field.group())), "properties");
    const JsonValue said = resolved(at(place, std::string(field.key())));
    if constexpr (field.path == "stages") {
      const JsonValue& own = at(at(said, "items"), "properties");
      for_each_plan_field([&](auto j) {
        constexpr const auto& each = kPlanField<j>;
        if constexpr (each.by_stage != nullptr) {
          EXPECT_EQ(plain(at(own, std::string(each.path))), plain(description<j>())) << each.path;
        }
      });
    } else {
      EXPECT_EQ(plain(said), plain(description<i>())) << field.path;
    }
  });
}

}  // namespace
}  // namespace pleat
