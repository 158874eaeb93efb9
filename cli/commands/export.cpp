// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat export
#include <CLI/CLI.hpp>
#include <memory>

#include "application/exchange/exported_plan.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/shared_options.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/json/text_file.hpp"

namespace pleat::cli {
namespace {

struct ExportOptions {
  std::string target, plan_file;
  OutputOptions output;
  bool json = false;
};

void run_export(const ExportOptions& o) {
  check_output(o.output);
  const ExportedPlan p = export_document(
      o.target, read_plan_document(read_text_file(o.plan_file), o.plan_file), o.plan_file);
  for (const interop::Remark& r : p.exported.missing) note(remark_text(r));
  if (!o.output.file.empty()) write_output(o.output, o.output.file, p.text);
  if (o.json)
    print(exported_json(p));
  else if (o.output.file.empty())
    print(p.text);
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
