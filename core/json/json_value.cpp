// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Building and describing JSON trees.
#include "core/json/json_value.hpp"

#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Longest string printed inside a message.
constexpr std::size_t kBriefString = 60;

}  // namespace

const JsonValue::Array& JsonValue::items() const {
  static const Array none;
  const Array* const items = std::get_if<Array>(&data_);
  return items == nullptr ? none : *items;
}

const JsonValue::Object& JsonValue::members() const {
  static const Object none;
  const Object* const members = std::get_if<Object>(&data_);
  return members == nullptr ? none : *members;
}

JsonValue JsonValue::finite(double value) {
  return std::isfinite(value) ? JsonValue(value) : JsonValue();
}

JsonValue::Array& JsonValue::mutable_items() {
  PLEAT_ASSERT(is_array());
  return *std::get_if<Array>(&data_);
}

JsonValue::Object& JsonValue::mutable_members() {
  PLEAT_ASSERT(is_object());
  return *std::get_if<Object>(&data_);
}

JsonValue& JsonValue::set(std::string key, JsonValue value) {
  Object& members = mutable_members();
  const auto found = std::ranges::find(members, key, &JsonMember::key);
  if (found != members.end()) {
    found->value = std::move(value);
  } else {
    members.push_back({std::move(key), {}, std::move(value)});
  }
  return *this;
}

JsonValue& JsonValue::push_back(JsonValue value) {
  mutable_items().push_back(std::move(value));
  return *this;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::ranges::find(members(), key, &JsonMember::key);
  return found == members().end() ? nullptr : &found->value;
}

std::string_view JsonValue::type_name() const {
  if (is_null()) return "null";
  if (as_bool() != nullptr) return "true or false";
  if (as_integer() != nullptr) return "integer";
  if (as_double() != nullptr) return "number";
  if (as_string() != nullptr) return "string";
  if (is_array()) return "array";
  return "object";
}

std::string JsonValue::brief() const {
  if (is_array()) return "an array";
  if (is_object()) return "an object";
  if (const std::string* text = as_string(); text != nullptr && text->size() > kBriefString) {
    return JsonValue(text->substr(0, kBriefString) + "...").dump(0);
  }
  if (const double* number = as_double(); number != nullptr && *number - *number != 0) {
    return *number != *number ? "NaN" : *number > 0 ? "Infinity" : "-Infinity";
  }
  return dump(0);
}

}  // namespace pleat
