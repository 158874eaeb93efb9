// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat export
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/interop_targets.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/output_options.hpp"
#include "console/write_file.hpp"
#include "console/output.hpp"
#include "core/json/json_value.hpp"
#include "interop/exported.hpp"

namespace pleat::cli {
namespace {

struct ExportOptions {
  std::string target, plan_file;
  OutputOptions output;
  bool json = false;
};

std::string to_json(const interop::Exported& e, const ExportOptions& o) {
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
  root.set("target", o.target)
      .set("framework", e.framework)
      .set("version", e.version)
      .set("settings", std::move(settings))
      .set("environment", std::move(environment))
      .set("missing", std::move(missing))
      .set("notes", std::move(notes));
  return root.dump() + "\n";
}

void run_export(const ExportOptions& o) {
  check_output(o.output);
  const PlanDocument document = load_plan_document(o.plan_file);
  const interop::Target target = parse_target(o.target);
  const interop::Exported e =
      interop::export_plan(target, {document, is_before_blackwell(document.cluster)}, o.plan_file);
  const std::string text = interop::export_text(target, e, plan_title(document));
  for (const interop::Remark& r : e.missing)
    note("no counterpart: " + r.field + " = " + r.value + ": " + r.text);
  if (!o.output.file.empty()) write_output(o.output, o.output.file, text);
  if (o.json)
    print(to_json(e, o));
  else if (o.output.file.empty())
    print(text);
}

}  // namespace

void add_export_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("export", "A plan in the words of another framework");
  const auto o = std::make_shared<ExportOptions>();
  command->add_option("--to", o->target, "megatron, megatron-bridge, torchtitan or deepspeed")
      ->required()
      ->check(one_of(target_names()));
  command->add_option("PLAN", o->plan_file, "A plan file")->required();
  add_output_options(*command, o->output, "the configuration");
  command->add_flag("--json", o->json,
                    "Print JSON: settings, environment, what has no counterpart");
  command->footer(
      "Examples:\n"
      "  pleat export --to megatron plan.json -o plan.megatron.sh\n"
      "  pleat export --to torchtitan plan.json\n"
      "What a framework cannot be told is listed on stderr and in the file's header; what it\n"
      "cannot run is refused.");
  command->callback([&action, o] { action = [o] { run_export(*o); }; });
}

}  // namespace pleat::cli
