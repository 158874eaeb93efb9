// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Building and describing JSON trees.
#include "core/json/json_value.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

// Longest string printed inside a message.
constexpr std::size_t kBriefString = 60;

}  // namespace

JsonValue& JsonValue::set(std::string key, JsonValue value) {
  Object* members = as_object();
  PLEAT_ASSERT(members != nullptr);
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const JsonMember& m) { return m.key == key; });
  if (found != members->end()) {
    found->value = std::move(value);
  } else {
    members->push_back({std::move(key), {}, std::move(value)});
  }
  return *this;
}

JsonValue& JsonValue::push_back(JsonValue value) {
  Array* items = as_array();
  PLEAT_ASSERT(items != nullptr);
  items->push_back(std::move(value));
  return *this;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const Object* members = as_object();
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const JsonMember& m) { return m.key == key; });
  return found == members->end() ? nullptr : &found->value;
}

std::string_view JsonValue::type_name() const {
  if (is_null()) return "null";
  if (as_bool() != nullptr) return "true or false";
  if (as_integer() != nullptr) return "integer";
  if (as_double() != nullptr) return "number";
  if (as_string() != nullptr) return "string";
  if (as_array() != nullptr) return "array";
  return "object";
}

std::string JsonValue::brief() const {
  if (as_array() != nullptr) return "an array";
  if (as_object() != nullptr) return "an object";
  if (const std::string* text = as_string(); text != nullptr && text->size() > kBriefString) {
    return JsonValue(text->substr(0, kBriefString) + "...").dump(0);
  }
  if (const double* number = as_double(); number != nullptr && *number - *number != 0) {
    return *number != *number ? "NaN" : *number > 0 ? "Infinity" : "-Infinity";
  }
  return dump(0);
}

}  // namespace pleat
