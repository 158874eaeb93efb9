// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat predict
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/predict_plan.hpp"
#include "cli/option_checks.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {

void add_predict_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("predict", "Time, memory and communication of one plan");
  const auto o = std::make_shared<PredictOptions>();
  add_plan_options(*command, o->plan);
  command->add_flag("--explain", o->explain,
                    "Say what bounds the step and what every legal single change would gain");
  command->add_option("--trace", o->trace_file, "Write the predicted trace (opens in Perfetto)");
  command->add_option("--trace-microbatches", o->trace_microbatches,
                      "Microbatches whose operations the trace has; it has the slots of all")
      ->capture_default_str()
      ->check(in_range(0, 16'777'216));
  command->add_option("--html", o->html_file, "Write the report as a page with charts");
  command->add_option("--threads", o->threads,
                      "Threads that price the changes of --explain (default: all cores)")
      ->check(in_range(0, 1024));
  command->add_option("--memory-timeline", o->memory_file,
                      "Write memory over the step as JSON: by stage, slot and kind");
  command->add_option("-t,--tokens", o->tokens,
                      "Tokens to train on, for example 15T: how many days they take");
  command->add_option("-o,--out", o->out_file, "Write the plan file, prediction included");
  command->add_flag("--force", o->force, "Replace files that are there");
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat predict --model deepseek-v3 --cluster gb300-nvl72 --gpus 256 --seq-len 4096 \\\n"
      "      --global-batch 4096 --pp 2 --vpp 8 --ep 32 --precision mxfp8 --layout "
      "'Et*4|(t*4|)*14tmL'\n"
      "  pleat predict --plan plan.json --explain\n"
      "  pleat predict --plan plan.json --trace predicted.json --html report.html\n"
      "  pleat predict --plan plan.json --json");
  command->callback([&action, o] { action = [o] { predict(*o); }; });
}

}  // namespace pleat::cli
