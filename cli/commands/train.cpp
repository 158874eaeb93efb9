// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat train
#include <CLI/CLI.hpp>
#include <memory>
#include <tuple>

#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/options/run_options.hpp"
#include "cli/plan_options.hpp"
#include "console/write_file.hpp"

namespace pleat::cli {
void add_train_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* command =
      app.add_subcommand("train", "Run a plan on this machine, predicted against measured");
  const auto o = std::make_shared<TrainOptions>();
  const auto plan = std::make_shared<PlanOptions>();
  add_plan_options(*command, *plan);
  command
      ->add_option("-d,--data", o->data,
                   "A text file, the prefix of a .bin and .idx, 'bible' (Debian's bible-kjv), or a "
                   "blend: \"0.3 A 0.7 B\"")
      ->capture_default_str();
  command
      ->add_option("--tokenizer", o->tokenizer,
                   "For text: 'byte', a tokenizer.json or a folder with one")
      ->capture_default_str();
  command
      ->add_option("--split", o->split,
                   "Shares of documents for training, validation and test: \"969, 30, 1\"")
      ->capture_default_str();
  command
      ->add_option("--order-samples", o->order_samples,
                   "Samples that their order is made for (default: those of --steps, or of the run "
                   "that goes on)")
      ->check(in_range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
  command->add_option(
      "--valid-data", o->valid_data,
      "Data that is held out, as --data says it (default: the validation share of --split)");
  command
      ->add_option("--eval-iters", o->eval_iters,
                   "Global batches of held-out data, always the same, whose loss is reported")
      ->check(in_range(1, 1'000'000));
  command
      ->add_option("--eval-interval", o->eval_interval,
                   "Steps between reports of the held-out loss (default: after the last step only)")
      ->check(in_range(1, 1'000'000));
  command->add_option("--eod", o->eod, "Token that ends documents (default: the tokenizer's)");
  command->add_flag("--eod-mask-loss", o->eod_mask_loss,
                    "Do not train to guess how the next document begins");
  command->add_option("--steps", o->steps, "Training steps")
      ->capture_default_str()
      ->check(in_range(1, 1'000'000));
  add_optimizer_options(*command, o->optimizer);
  command->add_option("--from", o->from,
                      "Folder of a Hugging Face model: its weights to start from, its config.json "
                      "unless --model is given");
  command->add_option("--seed", o->seed, "Seed of the initial weights and of the order of samples")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, std::int64_t{4'294'967'295}));
  for (const auto& [name, value, what] :
       {std::tuple{"--aux-loss", &o->aux_loss,
                   "Factor of the balance loss over microbatches (default: the model's; 0.01 "
                   "where nothing balances its router)"},
        {"--seq-aux-loss", &o->seq_aux_loss, "Factor of the balance loss within sequences"},
        {"--z-loss", &o->z_loss, "Factor of the loss on the size of router logits"},
        {"--mtp-loss", &o->mtp_loss, "Factor of the loss of multi-token prediction"}}) {
    command->add_option(name, *value, what)->check(in_range(0.0, 1000.0));
  }
  command
      ->add_option(
          "--bias-update", o->bias_update,
          "Step of the expert bias towards even loads, for models that have one; 0: it stays")
      ->capture_default_str()
      ->check(in_range(0.0, 1.0));
  command->add_flag("--forced-routing", o->forced_routing,
                    "Give every expert the same number of tokens");
  CheckpointOptions& c = o->checkpoints;
  command->add_option("--save", c.save, "Folder for checkpoints; one is saved at the end");
  command
      ->add_option("--save-every", c.every,
                   "Steps between checkpoints (default: none but the last)")
      ->check(in_range(1, 1'000'000));
  command->add_option("--keep", c.keep, "Newest checkpoints that stay")
      ->capture_default_str()
      ->check(in_range(1, 1'000'000));
  command->add_flag("--async-save", c.background, "Write checkpoints while training goes on");
  command->add_flag("--resume", c.resume,
                    "Go on from the newest whole checkpoint in --save, if any");
  command->add_option("--load", c.load, "Go on from this checkpoint, or the newest of this folder");
  command
      ->add_option("--check-replicas", c.check_replicas,
                   "Steps between comparisons of the data-parallel replicas' weights")
      ->check(in_range(1, 1'000'000));
  command->add_option("--log-json", o->log.json_file, "Append a JSON object a step to this file");
  command->add_option("--tensorboard", o->log.tensorboard_folder,
                      "Write TensorBoard events into this folder");
  add_device_options(*command, o->device);
  command->add_option("--trace", o->trace_file, "Write the last step's measured trace (Perfetto)");
  command->add_flag("--json", o->json, "Print JSON");
  command->add_flag_callback(
      "--dry-run", only_say_writes,
      "Read every input, say what would run and be written, and train nothing");
  add_process_options(*command, o->processes);
  command->footer(
      "Examples:\n"
      "  pleat train --model tiny-moe --gpus 4 --ep 4 --seq-len 128 --global-batch 8 --steps 10\n"
      "  pleat train --plan plan.json --data corpus.txt --steps 100 --trace measured.json\n"
      "  pleat train --plan plan.json --data \"0.3 wiki 0.7 code\" --split \"969, 30, 1\" --steps "
      "100\n"
      "  pleat train --plan plan.json --data corpus.txt --valid-data held-out.txt --eval-iters 10 "
      "--eval-interval 100 --steps 1000\n"
      "  pleat train --plan plan.json --data corpus.txt --steps 5000 --save ckpt --save-every 500 "
      "--resume\n"
      "  pleat train --plan plan.json --device cuda               # ranks share this machine's "
      "GPUs\n"
      "  pleat train --plan plan.json --transport tcp             # a process for each rank, here\n"
      "  mpirun -n 4 pleat train --plan plan.json                 # or torchrun, srun\n"
      "  PLEAT_JOB_SECRET_FILE=~/secret pleat train --plan plan.json --process 1/2 --rendezvous "
      "node1:29500\n"
      "Processes on several hosts show each other a secret: PLEAT_JOB_SECRET, or a file of mode "
      "600 named by\n"
      "PLEAT_JOB_SECRET_FILE, the same for all (openssl rand -hex 32). Under MPI it is made by "
      "itself.\n"
      "SIGTERM ends after the running step with exit code 75, Ctrl-C with 130, and --save then "
      "saves\nit; a second one ends at once.");
  command->callback(
      [&action, run = backend.train, o, plan] { action = [run, o, plan] { run(*o, *plan); }; });
}

}  // namespace pleat::cli
