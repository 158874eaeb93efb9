// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Building JSON trees, and writing them as text.
#include "core/json/json_value.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

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

// JSON text from a tree. Strings are escaped by nlohmann, which also replaces broken UTF-8.

namespace {

// Nothing in it is escaped, as in most texts.
bool is_plain(const std::string& text) {
  return std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::string quoted(const std::string& text) {
  if (is_plain(text)) return '"' + text + '"';
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number_text(double value) {
  PLEAT_ASSERT(std::isfinite(value));  // JSON has no NaN and no infinity
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Writer {
 public:
  Writer(int indent, JsonValue::ScalarArrays scalar_arrays)
      : indent_(indent), scalar_arrays_(scalar_arrays) {}

  void write(const JsonValue& value, int depth) {
    if (value.is_null()) {
      out += "null";
    } else if (const bool* flag = value.as_bool()) {
      out += *flag ? "true" : "false";
    } else if (const std::int64_t* integer = value.as_integer()) {
      out += fmt::format("{}", *integer);
    } else if (const double* number = value.as_double()) {
      out += number_text(*number);
    } else if (const std::string* text = value.as_string()) {
      out += quoted(*text);
    } else if (value.is_array()) {
      write_array(value.items(), depth);
    } else {
      write_object(value.members(), depth);
    }
  }

  std::string out;

 private:
  static bool is_scalar(const JsonValue& v) {
    return !v.is_array() && !v.is_object();
  }

  void new_line(int depth) {
    if (indent_ == 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent_ * depth), ' ');
  }

  void write_array(const JsonValue::Array& items, int depth) {
    bool flat = indent_ == 0 || items.empty() ||
                scalar_arrays_ == JsonValue::ScalarArrays::one_line;
    for (const JsonValue& item : items) flat = flat && is_scalar(item);
    out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += flat && indent_ > 0 ? ", " : ",";
      if (!flat) new_line(depth + 1);
      write(items[i], depth + 1);
    }
    if (!flat) new_line(depth);
    out += ']';
  }

  void write_object(const JsonValue::Object& members, int depth) {
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      new_line(depth + 1);
      out += quoted(members[i].key);
      out += indent_ > 0 ? ": " : ":";
      write(members[i].value, depth + 1);
    }
    if (!members.empty()) new_line(depth);
    out += '}';
  }

  int indent_;
  JsonValue::ScalarArrays scalar_arrays_;
};

}  // namespace

std::string JsonValue::dump(int indent, ScalarArrays scalar_arrays) const {
  Writer writer(indent, scalar_arrays);
  writer.write(*this, 0);
  return std::move(writer.out);
}

}  // namespace pleat
