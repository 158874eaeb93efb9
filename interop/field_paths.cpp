// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/field_paths.hpp"

#include "core/json/parse.hpp"

namespace pleat::interop {

FlatFields flat_fields(const JsonValue& object, const std::string& prefix) {
  FlatFields fields;
  PLEAT_ASSERT(object.is_object());
  for (const JsonMember& member : object.members()) {
    const std::string path = prefix.empty() ? member.key : prefix + "." + member.key;
    if (!member.value.is_object()) {
      fields.emplace_back(path, member.value);
      continue;
    }
    const FlatFields inner = flat_fields(member.value, path);
    fields.insert(fields.end(), inner.begin(), inner.end());
  }
  return fields;
}

FlatFields exported_fields(const PlanDocument& document) {
  const JsonValue root = parse_json(write_plan_document(document), "plan");
  FlatFields fields;
  for (const char* part : {"plan", "workload", "cluster"}) {
    const FlatFields inner = flat_fields(*root.find(part), part);
    fields.insert(fields.end(), inner.begin(), inner.end());
  }
  return fields;
}

}  // namespace pleat::interop
