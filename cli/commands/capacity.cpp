// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat capacity
#include <CLI/CLI.hpp>
#include <memory>

#include "application/request/plan_values.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/find_capacity.hpp"
#include "cli/numerics_options.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/shared_options.hpp"

namespace pleat::cli {
namespace {

void add_question(CLI::App& command, CapacityOptions& o) {
  command.add_option("-m,--model", o.model,
                     "Name of a shipped model (`pleat models`) or a Hugging Face config.json")
      ->check(offers_configs(ConfigKind::model));
  command.add_option("-t,--tokens", o.tokens, "Tokens to train on, for example 15T");
  command.add_option("-d,--deadline", o.deadline,
                     "Time there is, for example 60d, 8w or 1440h (default: 60d, where there is no "
                     "--budget)");
  command.add_option("--budget", o.budget, "US dollars there are, for example 20M");
  command
      .add_option("-c,--clusters", o.clusters,
                  "Names or files of clusters, with commas between (default: h100-sxm,gb200-nvl72)")
      ->delimiter(',')
      ->check(offers_configs(ConfigKind::cluster));
  command.add_option(
      "-n,--gpus", o.gpus,
      "Sizes to try: a range or a list (default: 256..16384, or without --clusters "
      "about what the deadline takes; of a range, powers of two "
      "and racks doubled; a listed size that does not divide the batch comes with a "
      "smaller one that suits it)");
  command.add_option("--gpu-step", o.gpu_step, "Of a range, the multiples of this instead")
      ->check(in_range(1, 16'777'216));
  command.add_option("--confidence", o.confidence,
                     "p50 or p90: how sure deadline and budget must hold")
      ->check(offers({"p50", "p90"}))
      ->capture_default_str();
  command
      .add_option("--tuning", o.tuning,
                  "How near to the best plan the run will be: untuned, any layout that fits; "
                  "typical, as published recipes; best, the plan as predicted")
      ->check(offers({"untuned", "typical", "best"}))
      ->capture_default_str();
}

void add_training(CLI::App& command, CapacityOptions& o) {
  const char* const group = "Training";
  command
      .add_option("--precision", o.precision,
                  "bf16, fp8_block, mxfp8 …, or CLUSTER=PRECISION, with commas between (default: "
                  "bf16)")
      ->delimiter(',')
      ->check(offers(words_of<Precision>()))
      ->group(group);
  add_numerics_mode(command, o.numerics, group);
  add_seq_len(command, o.seq_len, "Tokens of a sequence (default: 4096)")->group(group);
  add_global_batch(command, o.global_batch, "Sequences of a step (default: 4096)")->group(group);
  add_routing_options(command, o.routing, group);
  command
      .add_option("--batch-rule", o.batch_rule,
                  "constant: the same batch for every size; critical: doubled with the GPUs up to "
                  "--critical-batch, at the price of more tokens")
      ->check(offers({"constant", "critical"}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--critical-batch", o.critical_batch, "Tokens of a step, for example 60M")
      ->group(group);
}

void add_inputs(CLI::App& command, CapacityOptions& o) {
  const char* const group = "Prices and failures";
  command.add_option("--price", o.price,
                     "USD per GPU-hour, or CLUSTER=USD, with commas between")
      ->delimiter(',')
      ->group(group);
  command.add_option("--mtbf", o.mtbf,
                     "GPU-hours between failures that stop a job, or CLUSTER=HOURS, with commas")
      ->delimiter(',')
      ->group(group);
  command.add_option("--rate", o.rates,
                     "Any other input, NAME=VALUE or CLUSTER:NAME=VALUE, with commas: "
                     "restart_minutes, repair_hours, pue … (docs/FORMATS.md)")
      ->delimiter(',')
      ->group(group);
  command.add_option("--rates", o.rates_file, "A rates file, laid over the shipped one")
      ->group(group);
}

}  // namespace

void add_capacity_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("capacity", "Find what to book: how many of which GPUs, days, dollars");
  const auto o = std::make_shared<CapacityOptions>();
  add_question(*command, *o);
  add_training(*command, *o);
  add_inputs(*command, *o);
  command->add_flag("--proven", o->proven,
                    "Search for every size until its plan is proven the best; otherwise large "
                    "searches end after a few seconds, mostly within 3% of it");
  command->add_option("--threads", o->threads, "Threads of the search (default: all cores)")
      ->check(in_range(0, 1024));
  CLI::Option* json = command->add_flag("--json", o->json, "Print JSON");
  command->add_flag("--csv", o->csv, "Print a line of CSV for every cluster and size")
      ->excludes(json);
  command->add_option("--html", o->html_file, "Write the report as a page with charts");
  command->add_flag("--force", o->force, "Replace a file that is there");
  command->footer(
      "Examples:\n"
      "  pleat capacity --model deepseek-v3 --tokens 15T --deadline 60d \\\n"
      "      --clusters h100-sxm,gb200-nvl72,gb300-nvl72 \\\n"
      "      --precision h100-sxm=fp8_block,gb200-nvl72=mxfp8,gb300-nvl72=mxfp8\n"
      "  pleat capacity --model llama3-70b --tokens 2T --budget 3M --clusters h100-sxm \\\n"
      "      --gpus 256..4096 --price 2.2$ --rate restart_minutes=15");
  command->callback([&action, o] { action = [o] { capacity(*o); }; });
}

}  // namespace pleat::cli
