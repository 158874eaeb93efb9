// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan in the words of another framework: its settings, and what it cannot be told.
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
  std::vector<std::string> values;  // none: a switch
  bool operator==(const Setting&) const = default;
};

// A field that the other framework has no setting for, and the value that the plan has there.
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
  std::vector<std::string> notes;  // what a user must know to use the settings
};

struct ExportContext {
  const PlanDocument& document;
  bool before_blackwell = true;  // compute capability below 10
  [[nodiscard]] const Plan& plan() const { return document.plan; }
  [[nodiscard]] const ModelSpec& model() const { return document.model; }
  [[nodiscard]] const WorkloadSpec& workload() const { return document.workload; }
};

// A reason why a framework cannot run a plan, although Pleat allows it.
struct Refusal {
  const char* path;  // of the field, "plan.optimizer.main_params"
  const char* message;
  const char* hint;
  const char* source;  // where the framework says so: file and line in the version of the export
  bool (*applies)(const ExportContext&);
};

// What the export does with one field of the plan document: exactly one of `write` and `implied` is
// set. A field needs no rule where the framework can do nothing but its default. A refusal should
// then say why.
struct FieldRule {
  const char* path;  // of the field, "plan.attention.tp"
  void (*write)(const ExportContext&, Exported&);
  const char* implied;  // why nothing needs to be written
};

// Throws ConfigError (bad_request) with every refusal that applies, and with every field that has
// neither a rule nor its default. `where` names the plan in messages.
[[nodiscard]] Exported export_plan(Target, const ExportContext&, const std::string& where);

// The file to write. `title` is one line about the plan.
[[nodiscard]] std::string export_text(Target, const Exported&, const std::string& title);

// The tables that export_plan works with; public for tests.
[[nodiscard]] const std::vector<FieldRule>& field_rules(Target);
[[nodiscard]] const std::vector<Refusal>& refusals(Target);

// The fields of a document as a list, so that tests can find those that a table lacks. An entry is
// a path and its value: "plan.attention.tp", 2. Objects are taken apart, arrays are values.
using FlatFields = std::vector<std::pair<std::string, JsonValue>>;
[[nodiscard]] FlatFields flat_fields(const JsonValue& object, const std::string& prefix);

// The fields that an export must handle: all of `plan`, `workload` and `cluster`. The model is not
// among them; tests export it, import it again and compare.
[[nodiscard]] FlatFields exported_fields(const PlanDocument&);

}  // namespace pleat::interop
