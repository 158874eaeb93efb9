// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/toml_text.hpp"

#include <fmt/format.h>
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

JsonValue from_toml(const toml::node& node) {
  if (const toml::table* const table = node.as_table()) {
    JsonValue object = JsonValue::object();
    for (const auto& [key, value] : *table) object.set(std::string(key.str()), from_toml(value));
    return object;
  }
  if (const toml::array* const array = node.as_array()) {
    JsonValue list = JsonValue::array();
    for (const toml::node& item : *array) list.push_back(from_toml(item));
    return list;
  }
  if (const auto text = node.value_exact<std::string>()) return {*text};
  if (const auto flag = node.value_exact<bool>()) return {*flag ? "true" : "false"};
  if (const auto integer = node.value_exact<std::int64_t>()) return {std::to_string(*integer)};
  if (const auto number = node.value_exact<double>()) return {fmt::format("{}", *number)};
  return {"a date"};
}

}  // namespace

JsonValue read_toml(const std::string& text, const std::string& where) {
  try {
    return from_toml(toml::parse(text, where));
  } catch (const toml::parse_error& e) {
    throw_config_error(ExitCode::bad_file, fmt::format("{}:{}", where, e.source().begin.line), "",
                       std::string(e.description()), "TOML: [section], key = value");
  }
}

}  // namespace pleat::interop
