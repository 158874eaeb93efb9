// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat calibrate
#include <CLI/CLI.hpp>
#include <memory>

#include "application/learn/calibrate_from_runs.hpp"
#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {
namespace {

// Without --from-runs none of them has a meaning; with it none of what is measured here has.
void add_learning(CLI::App& command, FromRunsOptions& o) {
  CLI::Option* const runs =
      command.add_option("--from-runs", o.files,
                         "Learn from runs instead of measuring: rows as `pleat validate` takes, "
                         "Megatron logs with their arguments, or a plan file and then logs of it "
                         "(of `pleat train` or Megatron)");
  command.add_option("--profile", o.profile, "With --from-runs: the profile to begin with")
      ->check(offers_configs(ConfigKind::profile))
      ->needs(runs);
  command.add_flag("--force", o.output.force, "With --from-runs: replace files that are there")
      ->needs(runs);
  for (const char* flag :
       {"--ranks", "--device", "--collectives", "--symmetric-windows", "--sustained",
        "--point-seconds", "--within"}) {
    runs->excludes(command.get_option(flag));
  }
}

}  // namespace

void add_calibrate_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure this machine's kernels and collectives, fit its profile");
  const auto o = std::make_shared<CalibrateOptions>();
  const auto learn = std::make_shared<FromRunsOptions>();
  CLI::Option* const cluster =
      command
          ->add_option("-c,--cluster", o->cluster,
                       "The cluster file that describes this machine; with --from-runs where they "
                       "ran (default: as the runs say)")
          ->check(offers_configs(ConfigKind::cluster))
          ->capture_default_str();
  command->add_option("--ranks", o->ranks, "Ranks that share the cores in the shared measurements")
      ->capture_default_str()
      ->check(in_range(1, 256));
  command
      ->add_option("--device", o->device,
                   "What is measured: the CPU's kernels in fp32, or a GPU's in bf16 and fp8")
      ->capture_default_str()
      ->check(one_of({"cpu", "cuda"}));
  command
      ->add_option("--collectives", o->collectives,
                   "With --device cuda, between several GPUs: nccl, or direct (threads by their "
                   "GPUs' memory, processes by the host)")
      ->capture_default_str()
      ->check(CLI::IsMember({"nccl", "direct"}));
  command->add_flag("--symmetric-windows", o->symmetric_windows,
                    "With nccl: measure collectives in symmetric windows, too (NCCL 2.27)");
  command
      ->add_option("--sustained", o->sustained,
                   "With --device cuda, seconds of one product after another, and of attention, "
                   "for the clock under load (20 to 60; 0: not measured)")
      ->capture_default_str()
      ->check(in_range(0.0, 600.0));
  command
      ->add_option("--point-seconds", o->point_seconds,
                   "Seconds at most for a point (default: 0.1 on the CPU, 0.5 on a GPU)")
      ->check(in_range(0.001, 60.0));
  command
      ->add_option("--within", o->within,
                   "Begin no point after so many seconds: the profile is fitted to points spread "
                   "over the plan, and the same command goes on with the others")
      ->check(in_range(1.0, 86400.0));
  command->add_option(
      "-o,--out", o->out_file,
      "Profile file (default: where `--profile NAME` and the other commands find it)");
  command->add_flag("--json", o->json, "Print the profile as JSON");
  add_learning(*command, *learn);
  command->footer(
      "Examples:\n"
      "  pleat calibrate\n"
      "  pleat calibrate --ranks 8 --out my-machine.json\n"
      "  pleat calibrate --device cuda --cluster h200-sxm --out h200.json\n"
      "  pleat calibrate --device cuda --point-seconds 0.1 --within 240 -o quick.json\n"
      "  mpirun -n 16 pleat calibrate --device cuda --cluster h200-sxm --out h200.json\n"
      "  pleat calibrate --from-runs runs.jsonl -o ours.json\n"
      "  pleat calibrate --from-runs a.log b.log --cluster h100-sxm -o ours.json\n"
      "  pleat calibrate --from-runs plan.json train.jsonl --dry-run\n"
      "A calibration that was killed goes on where it was, on the CPU in its second pass.");
  command->callback([&action, measure = backend.calibrate_machine, o, learn, cluster] {
    action = [measure, o, learn, given = cluster->count() > 0] {
      if (learn->files.empty()) {
        measure(*o);
        return;
      }
      learn->cluster = given ? o->cluster : "";
      learn->output.file = o->out_file;
      learn->json = o->json;
      calibrate_from_runs(*learn);
    };
  });
}

}  // namespace pleat::cli
