// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat export-weights
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {

void add_export_weights_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* command = app.add_subcommand(
      "export-weights", "Weights as a Hugging Face folder: config.json and safetensors");
  const auto o = std::make_shared<ExportWeightsOptions>();
  command
      ->add_option("-m,--model", o->model, "Name of a shipped model or a Hugging Face config.json")
      ->check(offers_configs(ConfigKind::model));
  command->add_option("--from", o->from,
                      "Folder of a Hugging Face model whose weights are written");
  command->add_option(
      "--checkpoint", o->checkpoint,
      "Checkpoint of `pleat train --save` whose weights are written: one step_… folder");
  command
      ->add_option("--seed", o->seed,
                   "Without --from and --checkpoint: seed of the initial weights")
      ->capture_default_str();
  command->add_option("--dtype", o->dtype, "fp32, bf16 or fp16")
      ->capture_default_str()
      ->check(one_of({"fp32", "bf16", "fp16"}));
  command->add_option("--shard-size", o->shard_gb, "Size of a file in GB")
      ->capture_default_str()
      ->check(in_range(1e-6, 1e6));
  command->add_option("-o,--out", o->folder, "The new folder")->required();
  command->footer(
      "Examples:\n"
      "  pleat export-weights --model tiny-moe --seed 1 -o tiny-moe-hf\n"
      "  pleat export-weights --from ./Qwen3-30B-A3B --dtype bf16 -o ./bf16\n"
      "  pleat export-weights --model ./config.json --checkpoint ckpt/step_00005000 -o ./trained");
  command->callback([&action, run = backend.export_weights, o] { action = [run, o] { run(*o); }; });
}

}  // namespace pleat::cli
