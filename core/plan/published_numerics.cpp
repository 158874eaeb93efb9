// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/published_numerics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json/parse.hpp"
#include "core/plan/plan_fields.hpp"

namespace pleat {
namespace {

std::vector<std::string> read_names(ObjectReader& r, const std::string& key) {
  std::vector<std::string> names;
  const JsonValue::Array* items = r.optional_array(key);
  if (items == nullptr) return names;
  for (const JsonValue& item : *items) {
    const std::string* name = item.as_string();
    if (name == nullptr || name->empty())
      r.problem(key, item.brief() + " is no name");
    else
      names.push_back(*name);
  }
  return names;
}

std::vector<NumericsValue> read_values(ObjectReader& r) {
  std::vector<NumericsValue> values = read_numerics(r.object("numerics"));
  if (values.empty())
    r.problem("numerics", "names no field", "for example {\"precision\": \"fp8\"}");
  return values;
}

NumericsEffect read_effect(ObjectReader r) {
  NumericsEffect e;
  e.values = read_values(r);
  e.words = r.text("words");
  e.changes = r.text("changes");
  e.risk = r.text("risk");
  e.source = r.text("source");
  r.finish();
  return e;
}

NumericsRecipe read_recipe(ObjectReader r) {
  NumericsRecipe one;
  one.name = r.text("name");
  one.gpus = read_names(r, "gpus");
  if (one.gpus.empty()) r.problem("gpus", "names no GPU", "for example [\"gb300-nvl72\"]");
  one.families = read_names(r, "families");
  one.values = read_values(r);
  if (const auto runtime = r.optional_choice("runtime", {"pleat", "megatron"})) {
    one.runtime = static_cast<Runtime>(*runtime);
  }
  one.run = r.optional_text("run").value_or("");
  one.source = r.text("source");
  r.finish();
  return one;
}

template <class Read>
auto read_list(ObjectReader& r, const std::string& key, const Read& read) {
  std::vector<decltype(read(r))> list;
  r.each_object(key, [&](const ObjectReader& one) { list.push_back(read(one)); });
  return list;
}

bool names(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

}  // namespace

bool NumericsRecipe::names_precision() const {
  return std::ranges::find(values, kPlanRow<&Plan::precision>, &NumericsValue::row) != values.end();
}

Precision NumericsRecipe::precision() const {
  const auto at = std::ranges::find(values, kPlanRow<&Plan::precision>, &NumericsValue::row);
  return at == values.end() ? Precision::bf16 : at->holder.precision;
}

PublishedNumerics read_published_numerics(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader reader(root, "", {file_name, problems});
  PublishedNumerics all;
  reader.schema_version(1);
  all.effects = read_list(reader, "effects", read_effect);
  all.recipes = read_list(reader, "recipes", read_recipe);
  reader.optional_text("notes");
  reader.finish();
  for (std::size_t i = 0; i < all.recipes.size(); ++i) {
    const auto before = all.recipes.begin() + static_cast<std::ptrdiff_t>(i);
    const bool twice = std::any_of(all.recipes.begin(), before, [&](const NumericsRecipe& r) {
      return r.name == all.recipes[i].name;
    });
    if (twice) {
      problems.error(ExitCode::bad_file, file_name, fmt::format("recipes[{}].name", i),
                     fmt::format("{} is there twice", all.recipes[i].name), "a name of its own");
    }
  }
  problems.throw_if_errors();
  return all;
}

std::vector<NumericsRecipe> recipes_of(const PublishedNumerics& all, const std::string& gpu,
                                       const std::string& family) {
  std::vector<NumericsRecipe> own, of_any;
  for (const NumericsRecipe& r : all.recipes) {
    if (!names(r.gpus, gpu)) continue;
    if (r.families.empty())
      of_any.push_back(r);
    else if (names(r.families, family))
      own.push_back(r);
  }
  return own.empty() ? of_any : own;
}

std::vector<NumericsEffect> effects_of(const PublishedNumerics& all, const Numerics& numerics,
                                       const Numerics& other) {
  std::vector<NumericsValue> left = differences(numerics, other);
  std::vector<NumericsEffect> effects;
  const auto is_left = [&](const NumericsValue& v) {
    return has(other, v) && std::ranges::find(left, v.row, &NumericsValue::row) != left.end();
  };
  for (const NumericsEffect& e : all.effects) {
    if (!std::ranges::all_of(e.values, is_left)) continue;
    effects.push_back(e);
    for (const NumericsValue& v : e.values) {
      std::erase_if(left, [&](const NumericsValue& l) { return l.row == v.row; });
    }
  }
  for (const NumericsValue& v : left) {
    effects.push_back({{v}, "another " + std::string(path_of(v)), "", "", ""});
  }
  return effects;
}

std::string listed_words(const std::vector<NumericsEffect>& effects) {
  std::string text;
  for (const NumericsEffect& e : effects) text += (text.empty() ? "" : ", ") + e.words;
  return text;
}

}  // namespace pleat
