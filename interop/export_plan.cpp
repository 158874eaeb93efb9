// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The steps that every target shares: refuse, walk the table, look for fields that no row handles.
#include <fmt/format.h>

#include <algorithm>

#include "interop/bridge_export.hpp"
#include "interop/deepspeed_export.hpp"
#include "interop/exported.hpp"
#include "interop/field_paths.hpp"
#include "interop/megatron_export.hpp"
#include "interop/titan_export.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/constraints.hpp"

namespace pleat::interop {
namespace {

struct Framework {
  const char* name;
  const char* version;
};

Framework framework_of(Target target) {
  switch (target) {
    case Target::megatron:
      return {"Megatron-LM", kMegatronVersion};
    case Target::megatron_bridge:
      return {"Megatron-Bridge", kBridgeVersion};
    case Target::torchtitan:
      return {"torchtitan", kTitanVersion};
    case Target::deepspeed:
      return {"DeepSpeed", kDeepSpeedVersion};
  }
  return {"", ""};
}

std::vector<Refusal> both_megatron() {
  std::vector<Refusal> list = megatron_plan_refusals();
  const auto& model = megatron_model_refusals();
  list.insert(list.end(), model.begin(), model.end());
  return list;
}

void refuse(Target target, const ExportContext& c, const std::string& where) {
  Diagnostics problems;
  const Framework framework = framework_of(target);
  for (const Refusal& r : refusals(target)) {
    if (!r.applies(c)) continue;
    problems.error(ExitCode::bad_request, where, r.path,
                   fmt::format("{} cannot run this: {} ({}, {})", framework.name, r.message,
                               r.source, framework.version),
                   r.hint);
  }
  for (const auto& [path, value] : exported_fields(c.document)) {
    const auto& rules = field_rules(target);
    if (std::any_of(rules.begin(), rules.end(), [&](const FieldRule& r) { return path == r.path; }))
      continue;
    problems.error(ExitCode::bad_request, where, path,
                   fmt::format("the export to {} does not know this field yet", framework.name),
                   "leave it at its default");
  }
  problems.throw_if_errors();
}

}  // namespace

const std::vector<FieldRule>& field_rules(Target target) {
  switch (target) {
    case Target::megatron:
    case Target::megatron_bridge:
      return megatron_fields();
    case Target::torchtitan:
      return titan_fields();
    case Target::deepspeed:
      return deepspeed_fields();
  }
  return megatron_fields();
}

const std::vector<Refusal>& refusals(Target target) {
  static const std::vector<Refusal> megatron = both_megatron();
  switch (target) {
    case Target::megatron:
    case Target::megatron_bridge:
      return megatron;
    case Target::torchtitan:
      return titan_refusals();
    case Target::deepspeed:
      return deepspeed_refusals();
  }
  return megatron;
}

Exported export_plan(Target target, const ExportContext& c, const std::string& where) {
  require_valid({c.model(), c.workload(), c.plan(), c.document.gpus}, where);
  refuse(target, c, where);
  Exported e;
  e.framework = framework_of(target).name;
  e.version = framework_of(target).version;
  for (const FieldRule& rule : field_rules(target))
    if (rule.write != nullptr) rule.write(c, e);
  switch (target) {
    case Target::megatron:
    case Target::megatron_bridge:
      write_megatron_model(c, e);
      break;
    case Target::torchtitan:
    case Target::deepspeed:
      e.notes.push_back("the model is chosen and sized there; this says how it is run");
  }
  return target == Target::megatron_bridge ? to_bridge(c, e) : e;
}

}  // namespace pleat::interop
