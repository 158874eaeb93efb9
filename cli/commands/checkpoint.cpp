// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat checkpoint verify, repair
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/backend_commands.hpp"
#include "cli/commands/commands.hpp"

namespace pleat::cli {
namespace {

constexpr const char* kPaths = "Checkpoints (step_… folders), or folders of them";

void add_verify(CLI::App& checkpoint, Action& action, const BackendCommands& backend) {
  CLI::App* command = checkpoint.add_subcommand(
      "verify", "Read every byte: could a run go on from these checkpoints?");
  const auto o = std::make_shared<CheckpointsOptions>();
  command->add_option("PATH", o->paths, kPaths)->required();
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Exits with 6 if one is broken.\n\n"
      "Examples:\n"
      "  pleat checkpoint verify ckpt\n"
      "  pleat checkpoint verify ckpt/step_00005000 --json");
  command->callback(
      [&action, run = backend.verify_checkpoints, o] { action = [run, o] { run(*o); }; });
}

void add_repair(CLI::App& checkpoint, Action& action, const BackendCommands& backend) {
  CLI::App* command = checkpoint.add_subcommand(
      "repair", "Mend checkpoints in which a tensor stands twice, where both copies agree");
  const auto o = std::make_shared<CheckpointsOptions>();
  command->add_option("PATH", o->paths, kPaths)->required();
  command->add_flag(
      "--write", o->write,
      "Put the mended checkpoint in its place (default: only say what would be done)");
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Runs of models with tied embeddings saved such checkpoints before this was found. The "
      "mended one\n"
      "is written beside the old one and read back before it takes its place.\n\n"
      "Examples:\n"
      "  pleat checkpoint repair ckpt\n"
      "  pleat checkpoint repair ckpt/step_00005000 --write");
  command->callback(
      [&action, run = backend.repair_checkpoints, o] { action = [run, o] { run(*o); }; });
}

}  // namespace

void add_checkpoint_command(CLI::App& app, Action& action, const BackendCommands& backend) {
  CLI::App* checkpoint = app.add_subcommand(
      "checkpoint", "Check the checkpoints of `pleat train --save`, or mend them");
  add_verify(*checkpoint, action, backend);
  add_repair(*checkpoint, action, backend);
  checkpoint->require_subcommand(1);
}

}  // namespace pleat::cli
