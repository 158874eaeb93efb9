// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat predict
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/workflow/predict.hpp"

namespace pleat::cli {

void add_predict_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("predict", "Time, memory and communication of one plan");
  const auto o = std::make_shared<PredictOptions>();
  add_plan_options(*command, o->plan);
  command->add_option("--trace", o->trace_file, "Write the predicted trace (opens in Perfetto)");
  command->add_option("-o,--out", o->out_file, "Write the plan file, prediction included");
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat predict --model deepseek-v3 --cluster gb300-nvl72 --gpus 256 --seq-len 4096 \\\n"
      "      --global-batch 4096 --pp 2 --vpp 8 --ep 32 --precision mxfp8 --layout 'Et*4|(t*4|)*14tmL'\n"
      "  pleat predict --plan plan.json --trace predicted.json\n"
      "  pleat predict --plan plan.json --json");
  command->callback([&action, o] { action = [o] { predict(*o); }; });
}

}  // namespace pleat::cli
