// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The steps of every export: refuse, walk the table, find fields without a row, write the text.
#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/constraints.hpp"
#include "interop/export_targets.hpp"
#include "interop/exported.hpp"
#include "interop/megatron_export.hpp"
#include "interop/quoting.hpp"

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

std::vector<Refusal> of_megatron(bool builds_itself) {
  std::vector<Refusal> list = megatron_plan_refusals();
  const auto append = [&](const std::vector<Refusal>& more) {
    list.insert(list.end(), more.begin(), more.end());
  };
  append(megatron_model_refusals());
  if (builds_itself) append(megatron_builder_refusals());
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
  // A field that no rule handles says nothing as long as it has its default; else it is refused, if
  // not above, then here.
  const FlatFields usual = exported_fields(PlanDocument());
  for (const auto& field : exported_fields(c.document)) {
    const auto& rules = field_rules(target);
    const auto handles = [&](const FieldRule& r) { return field.first == r.path; };
    const auto refuses = [&](const Refusal& r) { return field.first == r.path && r.applies(c); };
    if (std::ranges::find(usual, field) != usual.end() || std::ranges::any_of(rules, handles) ||
        std::ranges::any_of(refusals(target), refuses)) {
      continue;
    }
    problems.error(ExitCode::bad_request, where, field.first,
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
  static const std::vector<Refusal> megatron = of_megatron(true), bridge = of_megatron(false);
  switch (target) {
    case Target::megatron:
      return megatron;
    case Target::megatron_bridge:
      return bridge;
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

// The file of an export: shell arrays for flags and overrides, JSON. What could not be said
// stands in the header (JSON has no comments: there it is said on stderr only).

namespace {

std::string header(const Exported& e, const std::string& title) {
  std::string text = fmt::format("# {}\n# for {} {}\n", one_line(title), e.framework, e.version);
  for (const std::string& note : e.notes) text += "# " + one_line(note) + "\n";
  for (const Remark& r : e.missing) {
    text += "# no counterpart: " + one_line(fmt::format("{} = {}: {}", r.field, r.value, r.text)) +
            "\n";
  }
  return text;
}

std::string exports(const Exported& e) {
  std::string text;
  for (const auto& [name, value] : e.environment)
    text += fmt::format("export {}={}\n", name, shell_word(value, name));
  return text;
}

std::string flags_text(const Exported& e, const std::string& title, const char* array,
                       const char* program) {
  std::string text =
      fmt::format("# shellcheck shell=bash disable=SC2034\n{}"
                  "# use: source this file, then give {} \"${{{}[@]}}\"\n"
                  "# and your data, tokenizer, learning rate and checkpoint arguments\n{}{}=(\n",
                  header(e, title), program, array, exports(e), array);
  for (const Setting& s : e.settings) {
    text += "  " + s.name;
    for (const std::string& value : s.values) text += " " + shell_word(value, s.name);
    text += "\n";
  }
  return text + ")\n";
}

std::string overrides_text(const Exported& e, const std::string& title) {
  std::string text = "# shellcheck shell=bash disable=SC2034\n" + header(e, title) +
                     "# use: source this file, then give the recipe's script "
                     "\"${BRIDGE_OVERRIDES[@]}\"\n" +
                     exports(e) + "BRIDGE_OVERRIDES=(\n";
  for (const Setting& s : e.settings)
    text += "  " + shell_word(s.name + "=" + s.values.front(), s.name) + "\n";
  return text + ")\n";
}

void set_path(JsonValue& object, const std::string& path, const JsonValue& value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) {
    object.set(path, value);
    return;
  }
  const std::string key = path.substr(0, dot);
  JsonValue inner = object.find(key) != nullptr ? *object.find(key) : JsonValue::object();
  set_path(inner, path.substr(dot + 1), value);
  object.set(key, std::move(inner));
}

std::string json_text(const Exported& e) {
  JsonValue root = JsonValue::object();
  for (const Setting& s : e.settings) set_path(root, s.name, parse_json(s.values.front(), s.name));
  return root.dump() + "\n";
}

}  // namespace

std::string export_text(Target target, const Exported& e, const std::string& title) {
  switch (target) {
    case Target::megatron:
      return flags_text(e, title, "MEGATRON_ARGS", "pretrain_gpt.py");
    case Target::megatron_bridge:
      return overrides_text(e, title);
    case Target::torchtitan:
      return flags_text(e, title, "TITAN_ARGS", "torchtitan.train");
    case Target::deepspeed:
      return json_text(e);
  }
  return {};
}

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
  PlanDocument plain = document;
  plain.workload.expert_loads.clear();  // one field, whatever layers they are of
  const JsonValue root = plan_document_json(plain);
  FlatFields fields;
  if (!document.workload.expert_loads.empty()) fields.push_back({"workload.expert_loads", "given"});
  for (const char* part : {"plan", "workload", "cluster"}) {
    const FlatFields inner = flat_fields(*root.find(part), part);
    fields.insert(fields.end(), inner.begin(), inner.end());
  }
  return fields;
}

}  // namespace pleat::interop
