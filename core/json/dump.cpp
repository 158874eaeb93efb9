// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// JSON text from a tree. Strings are escaped by nlohmann, which also replaces broken UTF-8.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"

namespace pleat {
namespace {

std::string quoted(const std::string& text) {
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
