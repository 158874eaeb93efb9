// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/unread_table.hpp"

#include "core/environment.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat::interop {
namespace {

// Lists of {why, flags} or {why, keys}; a name may have its usual value, "NAME=VALUE".
void read_groups(ObjectReader& r, const char* list, UnreadEffect effect, UnreadTable& out) {
  const JsonValue::Array* const groups = r.optional_array(list);
  if (groups == nullptr) return;
  for (const JsonValue& group : *groups) {
    const JsonValue* const why = group.find("why");
    const std::string* const reason = why == nullptr ? nullptr : why->as_string();
    for (const char* names : {"flags", "keys"}) {
      const JsonValue* const found = group.find(names);
      if (found == nullptr) continue;
      for (const JsonValue& item : found->items()) {
        const std::string* const name = item.as_string();
        if (name == nullptr) continue;
        const std::size_t equals = name->find('=');
        out[name->substr(0, equals)] = {
            effect, reason == nullptr ? "" : *reason,
            equals == std::string::npos ? "" : name->substr(equals + 1)};
      }
    }
  }
}

}  // namespace

UnreadTable load_unread(const std::string& name) {
  const std::string path = config_directory() + "/" + name + ".json";
  const JsonValue root = parse_json(read_text_file(path), path);
  Diagnostics problems;
  ObjectReader r(root, "", {path, problems});
  UnreadTable out;
  r.schema_version(1);
  r.text("framework");
  r.text("source");
  read_groups(r, "harmless", UnreadEffect::harmless, out);
  read_groups(r, "unpriced", UnreadEffect::unpriced, out);
  read_groups(r, "refused", UnreadEffect::refused, out);
  read_groups(r, "of_other_versions", UnreadEffect::harmless, out);
  r.finish();
  problems.throw_if_errors();
  return out;
}

}  // namespace pleat::interop
