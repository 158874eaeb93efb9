// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan in the words of another framework: settings, and what that framework has no word for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json/json_value.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat::interop {

enum class Target { megatron, megatron_bridge, torchtitan, deepspeed };

struct Setting {
  std::string name;                 // "--seq-length", "model.seq_length", "training.seq_len"
  std::vector<std::string> values;  // empty: a switch
  bool operator==(const Setting&) const = default;
};

// A field of the plan document that the target cannot be told, at the value that the plan has.
struct Remark {
  std::string field, value, text;
  bool operator==(const Remark&) const = default;
};

struct Exported {
  std::string framework;  // "Megatron-LM"
  std::string version;    // "d98e8a64dd (2026-08-22)"
  std::vector<Setting> settings;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Remark> missing;
  std::vector<std::string> notes;  // how the settings are used
};

struct ExportContext {
  const PlanDocument& document;
  bool before_blackwell = true;  // compute capability below 10
  [[nodiscard]] const Plan& plan() const { return document.plan; }
  [[nodiscard]] const ModelSpec& model() const { return document.model; }
  [[nodiscard]] const WorkloadSpec& workload() const { return document.workload; }
};

// Why a target cannot run a plan that Pleat allows.
struct Refusal {
  const char* path;  // of the field, "plan.optimizer.main_params"
  const char* message;
  const char* hint;
  const char* source;  // where the target says so: file and line of its stated version
  bool (*applies)(const ExportContext&);
};

// One field of the plan document. Exactly one of the last two is set.
struct FieldRule {
  const char* path;  // of the document, "plan.attention.tp"
  void (*write)(const ExportContext&, Exported&);
  const char* implied;  // why nothing needs to be written
};

// Throws ConfigError (bad_request) with every refusal, or when the document has a field that no
// rule handles. `where` names the plan.
[[nodiscard]] Exported export_plan(Target, const ExportContext&, const std::string& where);

// The file to write. `title` is one line about the plan.
[[nodiscard]] std::string export_text(Target, const Exported&, const std::string& title);

// For tests: the tables behind export_plan.
[[nodiscard]] const std::vector<FieldRule>& field_rules(Target);
[[nodiscard]] const std::vector<Refusal>& refusals(Target);

// The fields of a document as flat paths, so that a table over them can be checked for gaps.

// "plan.attention.tp" and its value: members of objects, however deep; arrays are values.
using FlatFields = std::vector<std::pair<std::string, JsonValue>>;
[[nodiscard]] FlatFields flat_fields(const JsonValue& object, const std::string& prefix);

// What an export has to say something about: every leaf of `plan`, `workload` and `cluster`. The
// model is checked by its round trip.
[[nodiscard]] FlatFields exported_fields(const PlanDocument&);

}  // namespace pleat::interop
