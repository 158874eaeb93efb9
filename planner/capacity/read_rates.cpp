// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rates from JSON: a bare number, or {"value", "source", "as_of", "assumption"}.
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "planner/capacity/rates.hpp"

namespace pleat {
namespace {

RateValue read_value(ObjectReader& parent, const std::string& key, Rate rate,
                     const std::string& file_name) {
  RateValue value;
  const JsonValue* found = parent.find(key);
  const bool object = found != nullptr && found->is_object();
  if (object) {
    ObjectReader reader = parent.object(key);
    value.value = reader.number("value");
    value.source = reader.text("source");
    value.as_of = reader.optional_text("as_of").value_or("");
    value.assumption = reader.optional_boolean("assumption").value_or(false);
    if (rate == Rate::price) value.basis = reader.optional_text("basis").value_or("");
    reader.finish();
  } else {
    value.value = parent.number(key);
    value.source = file_name;
  }
  const std::string problem = rate_problem(rate, value.value);
  if (!problem.empty()) parent.problem(key, problem);
  return value;
}

RateSet read_set(ObjectReader& reader, const std::string& file_name) {
  RateSet set;
  for (std::size_t i = 0; i < kRates; ++i) {
    const Rate rate = static_cast<Rate>(i);
    const std::string key = facts_of(rate).key;
    if (reader.find(key) != nullptr) set[i] = read_value(reader, key, rate, file_name);
  }
  reader.optional_text("notes");
  reader.finish();
  return set;
}

}  // namespace

RateFile read_rates(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader reader(root, "", {file_name, problems});
  RateFile file;
  reader.schema_version(1);
  file.name = reader.text("name");
  if (auto defaults = reader.optional_object("defaults")) {
    file.defaults = read_set(*defaults, file_name);
  }
  if (auto clusters = reader.optional_object("clusters")) {
    for (const JsonMember& member : clusters->members()) {
      ObjectReader cluster = clusters->object(member.key);
      file.clusters.emplace_back(member.key, read_set(cluster, file_name));
    }
    clusters->finish();
  }
  reader.optional_text("notes");
  reader.finish();
  problems.throw_if_errors();
  return file;
}

}  // namespace pleat
