// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat plan
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/workflow/find_plan.hpp"

namespace pleat::cli {
namespace {

void add_pins(CLI::App& command, FindPlanOptions& o) {
  const auto pin = [&](const char* name, std::vector<int>& values, const char* what) {
    command.add_option(name, values, std::string("Only these ") + what + ", with commas between")
        ->delimiter(',')
        ->check(in_range(1, 16'777'216))
        ->group("Pins");
  };
  pin("--tp", o.tp, "tensor parallel sizes");
  pin("--cp", o.cp, "context parallel sizes");
  pin("--pp", o.pp, "numbers of pipeline stages");
  pin("--vpp", o.vpp, "numbers of virtual stages on each pipeline rank");
  pin("--ep", o.ep, "expert parallel sizes");
  pin("--etp", o.etp, "tensor parallel sizes inside an expert");
  pin("--micro-batch", o.micro_batch, "microbatch sizes");
  command.add_option("--sharding", o.sharding, "Only this one of none, zero1, zero2 and zero3")
      ->group("Pins");
  command.add_flag("--no-recompute", o.no_recompute, "Keep all activations")->group("Pins");
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Find the best plans for a model on a cluster");
  const auto o = std::make_shared<FindPlanOptions>();
  add_target_options(*command, o->target);
  command->add_option("--precision", o->precision,
                      "fp32, bf16, fp8, mxfp8 or nvfp4 (default: bf16 for megatron, fp32 for pleat)");
  command->add_option("--top", o->top, "How many plans to show")
      ->capture_default_str()
      ->check(in_range(1, 10'000));
  command
      ->add_option("--compare", o->compare,
                   "A recipe to price beside the winner, as \"tp=1,pp=2,vpp=8,ep=32\"; may be repeated")
      ->expected(1)
      ->take_all();
  command->add_option("--threads", o->threads, "Threads of the search (default: all cores)")
      ->check(in_range(0, 1024));
  command->add_option("-o,--out", o->out_file, "Write the best plan's file");
  command->add_option("--html", o->html_file, "Write the report as a page with charts");
  command->add_flag("--json", o->json, "Print JSON");
  add_pins(*command, *o);
  command->footer(
      "Examples:\n"
      "  pleat plan --model deepseek-v3 --cluster gb300-nvl72 --gpus 256 --seq-len 4096 \\\n"
      "      --global-batch 4096 --precision mxfp8 --compare tp=1,pp=2,vpp=8,ep=32\n"
      "  pleat plan --model mixtral-8x7b --cluster h100-sxm --gpus 64 --seq-len 4096 \\\n"
      "      --global-batch 256 --tp 1,2 --top 10 --out plan.json");
  command->callback([&action, o] { action = [o] { find_plan(*o); }; });
}

}  // namespace pleat::cli
