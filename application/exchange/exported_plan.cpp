// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/exchange/exported_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/json/json_value.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {

ExportedPlan export_document(const std::string& target, const PlanDocument& document,
                             const std::string& file) {
  require_valid({document.model, document.workload, document.plan, document.gpus}, file);
  const interop::Target to = parse_target(target);
  ExportedPlan p{target, {}, {}};
  p.exported = interop::export_plan(to, {document, is_before_blackwell(document.cluster)}, file);
  p.text = interop::export_text(to, p.exported, plan_title(document));
  return p;
}

std::string exported_json(const ExportedPlan& p) {
  const interop::Exported& e = p.exported;
  JsonValue settings = JsonValue::array();
  for (const interop::Setting& s : e.settings) {
    JsonValue values = JsonValue::array();
    for (const std::string& value : s.values) values.push_back(value);
    settings.push_back(JsonValue::object().set("name", s.name).set("values", std::move(values)));
  }
  JsonValue environment = JsonValue::object();
  for (const auto& [name, value] : e.environment) environment.set(name, value);
  JsonValue missing = JsonValue::array();
  for (const interop::Remark& r : e.missing) {
    missing.push_back(
        JsonValue::object().set("field", r.field).set("value", r.value).set("text", r.text));
  }
  JsonValue notes = JsonValue::array();
  for (const std::string& n : e.notes) notes.push_back(n);
  JsonValue root = JsonValue::object();
  root.set("target", p.target)
      .set("framework", e.framework)
      .set("version", e.version)
      .set("settings", std::move(settings))
      .set("environment", std::move(environment))
      .set("missing", std::move(missing))
      .set("notes", std::move(notes));
  return root.dump() + "\n";
}

std::string remark_text(const interop::Remark& r) {
  return "no counterpart: " + r.field + " = " + r.value + ": " + r.text;
}

const std::vector<std::string>& target_names() {
  static const std::vector<std::string> names{"megatron", "megatron-bridge", "torchtitan",
                                              "deepspeed"};
  return names;
}

interop::Target parse_target(const std::string& name) {
  const auto& names = target_names();
  const auto at = std::find(names.begin(), names.end(), name);
  PLEAT_ASSERT(at != names.end());
  return static_cast<interop::Target>(at - names.begin());
}

PlanDocument load_plan_document(const std::string& file) {
  PlanDocument document = read_plan_document(read_text_file(file), file);
  require_valid({document.model, document.workload, document.plan, document.gpus}, file);
  return document;
}

bool is_before_blackwell(const std::string& cluster) {
  try {
    return load_cluster(cluster).gpu.peak_fp4.base() <= 0;
  } catch (const ConfigError&) {
    return true;
  }
}

std::string plan_title(const PlanDocument& d) {
  return fmt::format("{} on {} x {}: {}", d.model_name, d.gpus, d.cluster, summary(d.plan));
}

}  // namespace pleat
