// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat calibrate
#include <CLI/CLI.hpp>
#include <memory>

#include "application/tune/calibrate_machine.hpp"
#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {

void add_calibrate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure this machine's kernels and collectives, fit its profile");
  const auto o = std::make_shared<CalibrateOptions>();
  command->add_option("-c,--cluster", o->cluster, "The cluster file that describes this machine")
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
  command->add_option(
      "-o,--out", o->out_file,
      "Profile file (default: where `--profile NAME` and the other commands find it)");
  command->add_flag("--json", o->json, "Print the profile as JSON");
  command->footer(
      "Examples:\n"
      "  pleat calibrate\n"
      "  pleat calibrate --ranks 8 --out my-machine.json\n"
      "  pleat calibrate --device cuda --cluster h200-sxm --out h200.json\n"
      "  mpirun -n 16 pleat calibrate --device cuda --cluster h200-sxm --out h200.json\n"
      "A calibration that was killed goes on where it was, on the CPU in its second pass.");
  command->callback([&action, o] { action = [o] { calibrate_machine(*o); }; });
}

}  // namespace pleat::cli
