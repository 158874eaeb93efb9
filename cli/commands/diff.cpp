// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat diff
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/option_choices.hpp"
#include "cli/commands/diff_plans.hpp"

namespace pleat::cli {

void add_diff_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("diff", "Two plans: fields that differ, time and memory");
  const auto o = std::make_shared<DiffOptions>();
  command->add_option("PLAN_A", o->first, "A plan file")->required();
  command->add_option("PLAN_B", o->second, "Another")->required();
  command->add_option("--cluster", o->cluster, "Cluster of both (default: that of each plan)")
      ->check(offers_configs(ConfigKind::cluster));
  command->add_option("--profile", o->profile, "Profile of both (default: each cluster's newest)")
      ->check(offers_configs(ConfigKind::profile));
  command->add_flag("--json", o->json, "Print JSON");
  command->footer(
      "Examples:\n"
      "  pleat diff a.json b.json\n"
      "  pleat diff a.json b.json --json");
  command->callback([&action, o] { action = [o] { diff_plans(*o); }; });
}

}  // namespace pleat::cli
