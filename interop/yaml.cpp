// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/yaml.hpp"

#include <algorithm>

#include "interop/quoting.hpp"
#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

bool is_plain_key(const std::string& key) {
  return is_plain_name(key) && key != "null" && key != "true" && key != "false" && key != "yes" &&
         key != "no" && key != "on" && key != "off" && key != "y" && key != "n" &&
         !(key.front() >= '0' && key.front() <= '9');
}

bool is_empty(const JsonValue& v) {
  return (v.is_object() || v.is_array()) && v.members().empty() && v.items().empty();
}

void write(const JsonValue& value, std::size_t depth, std::string& out);

// After "key:" or "-": a scalar on the same line, anything else below.
void write_after(const JsonValue& value, std::size_t depth, bool in_list, std::string& out) {
  const bool nested = value.is_object() || value.is_array();
  if (!nested || is_empty(value)) {
    out += " " + value.dump(0) + "\n";
  } else if (in_list && value.is_object()) {
    std::string inner;
    write(value, depth + 1, inner);
    out += " " + inner.substr(2 * (depth + 1));  // the first member on the line of the dash
  } else {
    out += "\n";
    write(value, depth + 1, out);
  }
}

void write(const JsonValue& value, std::size_t depth, std::string& out) {
  const std::string indent(2 * depth, ' ');
  for (const JsonMember& m : value.members()) {
    out += indent + (is_plain_key(m.key) ? m.key : json_string(m.key)) + ":";
    write_after(m.value, depth, false, out);
  }
  for (const JsonValue& item : value.items()) {
    out += indent + "-";
    write_after(item, depth, true, out);
  }
}

}  // namespace

std::string to_yaml(const JsonValue& value) {
  PLEAT_ASSERT(value.is_object());
  std::string out;
  write(value, 0, out);
  return out;
}

}  // namespace pleat::interop
