// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat plan
#include <CLI/CLI.hpp>
#include <memory>

#include "application/request/ineffective_options.hpp"
#include "application/request/plan_values.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/find_plan.hpp"
#include "cli/config/option_defaults.hpp"
#include "cli/numerics_options.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/search_options.hpp"
#include "cli/plan_options.hpp"

namespace pleat::cli {
namespace {

void add_objective(CLI::App& command, ObjectiveOptions& o) {
  command
      .add_option(
          "--objective", o.objective,
          "throughput: the shortest step on all GPUs; time-to-train: on as many as help; cost: "
          "the fewest GPU-hours; memory-headroom: the least memory within --slack")
      ->check(CLI::IsMember({"throughput", "time-to-train", "cost", "memory-headroom"}))
      ->capture_default_str()
      ->group("Objective");
  command
      .add_option("--slack", o.slack,
                  "How much slower than the fastest a plan with less memory may be, 0.05 for 5%")
      ->check(in_range(0.0, 10.0))
      ->capture_default_str()
      ->group("Objective");
  command
      .add_option(
          "--min-gpus", o.min_gpus,
          "The fewest GPUs that time-to-train and cost try, by halving, with sizes between that "
          "suit the batch (default: a sixteenth)")
      ->check(in_range(1, 16'777'216))
      ->group("Objective");
  command
      .add_flag("--pareto", o.pareto, "Also list step time against memory, as far as --slack goes")
      ->group("Objective");
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Find the best plans for a model on a cluster");
  const auto o = std::make_shared<FindPlanOptions>();
  command->add_option("-p,--plan", o->plan_file,
                      "A plan file: its model, cluster, GPUs, workload and number formats are "
                      "searched anew, with its plan in the comparison; flags beside it win");
  add_target_options(*command, o->target);
  command->add_option("-t,--tokens", o->tokens,
                      "Tokens to train on, for example 15T: how many days they take");
  command
      ->add_option(
          "--top", o->search.top,
          "How many plans to show; of one mesh and microbatch only those that differ by 0.5% "
          "in time or 5% of a GPU's memory")
      ->capture_default_str()
      ->check(in_range(1, 10'000));
  command
      ->add_option("--certain", o->search.certain,
                   "How many of them, the first ones, are proven to be the best; the others are "
                   "good ones that were met on the way. More takes longer")
      ->capture_default_str()
      ->check(in_range(1, 10'000));
  command
      ->add_option(
          "--compare", o->compare,
          "A recipe to price beside the winner, as \"tp=1,pp=2,vpp=8,ep=32\", or a plan file; may "
          "be repeated")
      ->expected(1)
      ->take_all();
  add_objective(*command, o->objective);
  command
      ->add_flag("--robust", o->search.robust,
                 "Rank by the upper end of the prediction band, not by its middle")
      ->group("Objective");
  command->add_option("-o,--out", o->out_file,
                      "Write the best plan's file; to FOLDER/, those of all that are shown");
  command->add_option("--html", o->html_file, "Write the report as a page with charts");
  command->add_flag("--force", o->force, "Replace files that are there");
  command->add_flag("--explain", o->explain,
                    "What binds the best plan, and what would change the answer");
  command
      ->add_option(
          "--sensitivity", o->sensitivity,
          "For --explain and --html, under 20% more and less of each input: plans, the best ones "
          "are priced again; search, a new search too, each at most --time-limit or 30 s")
      ->check(CLI::IsMember({"plans", "search"}));
  command->add_flag("--json", o->json, "Print JSON");
  add_numerics_mode(*command, o->search.numerics.mode, kNumericsGroup);
  add_numerics_options(*command, o->search.numerics.fields);
  add_search_pins(*command, o->search);
  add_search_limits(*command, o->search);
  command->footer(
      "Examples:\n"
      "  pleat plan --model deepseek-v3 --cluster gb300-nvl72 --gpus 256 --seq-len 4096 \\\n"
      "      --global-batch 4096 --precision mxfp8 --compare tp=1,pp=2,vpp=8,ep=32\n"
      "  pleat plan --model mixtral-8x7b --cluster h100-sxm --gpus 64 --seq-len 4096 \\\n"
      "      --global-batch 256 --tp 1,2 --pp 1..4 --dispatcher deepep,alltoall --out plan.json\n"
      "  pleat plan --model qwen3-235b-a22b --cluster gb200-nvl72 --gpus 64 --seq-len 4096 \\\n"
      "      --global-batch 1024 --precision bf16,mxfp8 --exp-avg-dtype fp32,bf16 --robust\n"
      "  pleat plan --model qwen3-30b-a3b --cluster h100-sxm --gpus 16 --seq-len 4096 \\\n"
      "      --global-batch 512 --precision fp8 --fp8-params any --fp8-dispatch any \\\n"
      "      --microbatch-group 4,8 --dispatcher-sms 16,20,24\n"
      "  pleat plan --plan mine.json");
  command->callback([&action, o, command] {
    const auto is_given = [command](const std::string& name) {
      return is_typed(*command->get_option(name));
    };
    action = [o, is_given] {
      refuse_ineffective_search_options(*o, is_given);
      find_plan(*o);
    };
  });
}

}  // namespace pleat::cli
