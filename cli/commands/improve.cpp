// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat improve
#include "application/improve/improve.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/recipe_options.hpp"
#include "cli/options/shared_options.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "console/write_file.hpp"

namespace pleat::cli {
namespace {

struct ImproveCommand {
  ImproveOptions improve;
  OutputOptions output;
  bool json = false;
};

// The search's best so far, on a terminal, twice a second.
void show_live(const SearchProgress& p) {
  static double next = 0.5;  // seconds
  if (p.seconds < next) return;
  next = p.seconds + 0.5;
  progress(p.best ? fmt::format("searching all plans: {:.0f} s, {} priced, best so far {:.2f} ms",
                                p.seconds, p.priced, p.best->base() * 1e3)
                  : fmt::format("searching all plans: {:.0f} s, {} priced, none fits so far",
                                p.seconds, p.priced));
}

void run_improve(const ImproveCommand& c) {
  check_output(c.output);
  const ImprovedJob job = improve_job(
      c.improve,
      [&](const ImprovedJob& early) {
        for (const std::string& line : early.notes) note(line);
        if (c.json) return;
        print(improve_text(early, terminal().columns));
        flush_output();
      },
      show_live);
  progress("");
  if (!c.output.file.empty()) write_output(c.output, c.output.file, job.patch);
  print(c.json ? improve_json(job).dump() + "\n" : search_text(job, terminal().columns));
}

}  // namespace

void add_improve_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "improve",
      "The few flags or keys of a training job to change, with gain, memory and a patch");
  const auto c = std::make_shared<ImproveCommand>();
  ImproveOptions& o = c->improve;
  command
      ->add_option("FILE", o.job.files,
                   "The job's script with what it reads, a YAML file of arguments, config.toml of "
                   "torchtitan, ds_config.json, YAML of NeMo or Megatron-Bridge, recipe.py of "
                   "Megatron-Bridge, or a plan file")
      ->required();
  command->add_option("-c,--cluster", o.cluster, "Where it runs (default: h100-sxm, or the plan's)")
      ->check(offers_configs(ConfigKind::cluster));
  command->add_option("-n,--gpus", o.job.gpus, "GPUs (default: as the script says)")
      ->check(in_range(1, 1 << 20));
  command->add_option("--log", o.log, "Log of a run of it, whose times stand beside");
  command->add_option("--profile", o.profile, "Profile of the prediction (default: as `predict`)")
      ->check(offers_configs(ConfigKind::profile));
  command->add_option("-m,--model", o.job.model, "Model instead of the one in the arguments")
      ->check(offers_configs(ConfigKind::model));
  command->add_option("--set", o.job.set, "A variable that the script is given")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=VALUE");
  command->add_option("--command", o.job.command, "Which of several commands (default: the last)")
      ->check(in_range(1, 1000));
  command->add_option("--vocab-size", o.job.vocab, "Tokens, where the arguments do not say")
      ->check(in_range(1, 1 << 28));
  add_seq_len(*command, o.seq_len, "Of ds_config.json: tokens of a sequence (default: 4096)");
  add_recipe_options(*command, o.recipe);
  command->add_option("--seconds", o.seconds, "Time for the answer, the search's with it")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86'400.0));
  command->add_option("--changes", o.changes, "At most so many changes, one after the other")
      ->capture_default_str()
      ->check(in_range(1, 100));
  command->add_flag("--numerics", o.numerics, "Also other number formats, which change training");
  command->add_option("--threads", o.threads, "Threads (0: all cores)")
      ->capture_default_str()
      ->check(in_range(0, 4096));
  add_output_options(*command, c->output, "the patch");
  command->add_flag("--json", c->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat improve train.sh --gpus 64 --cluster h100-sxm --log train.log\n"
      "  pleat improve train.sh --set TP=4 -o faster.patch && patch -p0 < faster.patch\n"
      "  pleat improve config.toml --gpus 64\n"
      "  pleat improve ds_config.json --model qwen3-30b-a3b --gpus 64\n"
      "  pleat improve recipe.py --gpus 64 --python ~/bridge/bin/python\n"
      "  pleat improve plan.json");
  command->callback([&action, c] { action = [c] { run_improve(*c); }; });
}

}  // namespace pleat::cli
