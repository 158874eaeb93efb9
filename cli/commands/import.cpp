// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat import
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/import_files.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/recipe_options.hpp"
#include "cli/options/shared_options.hpp"
#include "core/spec/profile.hpp"

namespace pleat::cli {

void add_import_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "import", "Logs, command lines, configs and measurements of other programs");
  const auto o = std::make_shared<ImportOptions>();
  command
      ->add_option(
          "KIND", o->kind,
          "megatron-log, megatron-args, megatron-bridge, torchtitan, deepspeed, nemo, hf or "
          "nccl-tests")
      ->required()
      ->check(one_of(import_kinds()));
  command
      ->add_option("FILE", o->files,
                   "What to read; nccl-tests takes several, megatron-args also what a script reads")
      ->required();
  command->add_option("-c,--cluster", o->cluster, "Where it ran: name of a cluster, or a file")
      ->check(offers_configs(ConfigKind::cluster));
  command->add_option("--profile", o->profile, "Profile of the prediction, or to start from")
      ->check(offers_configs(ConfigKind::profile));
  command->add_option("-m,--model", o->model, "Model instead of the one in the arguments")
      ->check(offers_configs(ConfigKind::model));
  command->add_option("--name", o->name, "Name of the model, or of the new cluster");
  command->add_option("-n,--gpus", o->gpus, "GPUs of the run (default: as the log says)")
      ->check(in_range(1, 1 << 20));
  command->add_option("--set", o->set, "Of megatron-args: a variable that the script is given")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  command->add_option("--command", o->command, "Of megatron-args: which of several (default: last)")
      ->check(in_range(1, 1000));
  command->add_option("--vocab-size", o->vocab, "Of megatron-args and -log: tokens, where none say")
      ->check(in_range(1, 1 << 28));
  add_seq_len(*command, o->seq_len, "Of deepspeed: tokens of a sequence (default: 4096)");
  add_recipe_options(*command, o->recipe);
  command->add_option("--warmup", o->warmup, "Iteration lines to drop (default: 3)")
      ->check(in_range(0, 1'000'000));
  command
      ->add_option("--collective", o->collective,
                   "Of nccl-tests that do not print it: all_reduce, all_gather, reduce_scatter, "
                   "all_to_all or send_recv")
      ->check(offers({kCollectiveNames.begin(), kCollectiveNames.end()}));
  command->add_option("--ranks", o->ranks, "Of nccl-tests that do not list them")
      ->check(in_range(2, 1 << 20));
  add_output_options(*command, o->output,
                     "the plan or model (nccl-tests: the cluster's files, a folder)");
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat import megatron-log train.log --cluster h100-sxm -o plan.json\n"
      "  pleat import megatron-args plan.megatron.sh --gpus 256 --cluster gb300-nvl72\n"
      "  pleat import megatron-args train.sh --set TP=4 --set NNODES=16\n"
      "  pleat import megatron-args run.sh sbatch.sh runtime.conf model.yaml --command 1\n"
      "  pleat import megatron-bridge checkpoints/iter_0000100/run_config.yaml --gpus 64\n"
      "  pleat import megatron-bridge recipe.py --gpus 64 --python ~/bridge/bin/python\n"
      "  pleat import torchtitan train_configs/llama3_70b.toml --gpus 256\n"
      "  pleat import deepspeed ds_config.json --model qwen3-30b-a3b --gpus 64 -s 8k\n"
      "  pleat import nemo pretrain.yaml --cluster h100-sxm\n"
      "  pleat import hf ./Qwen3-30B-A3B\n"
      "  pleat import nccl-tests all_reduce.txt alltoall.txt --cluster h100-sxm --name ours -o "
      "ours/");
  command->callback([&action, o] { action = [o] { import_files(*o); }; });
}

}  // namespace pleat::cli
