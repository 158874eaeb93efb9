// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat clusters
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/report/catalog_report.hpp"
#include "console/output.hpp"

namespace pleat::cli {

void add_clusters_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("clusters", "List the clusters that ship");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer("Examples:\n  pleat clusters\n  pleat clusters --json");
  command->callback([&action, json] {
    action = [json] { print(*json ? clusters_json() : clusters_text()); };
  });
}

}  // namespace pleat::cli
