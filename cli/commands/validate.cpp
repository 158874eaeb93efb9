// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat validate
#include "cli/commands/validate_runs.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/option_checks.hpp"

namespace pleat::cli {

void add_validate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Predictions against published, measured runs");
  const auto o = std::make_shared<ValidateOptions>();
  command->add_option("--rows", o->rows,
                      "Files of runs, one JSON object a line (default: those that ship)");
  command->add_option("--tier", o->tiers, "Only rows of these tiers, with commas between")
      ->delimiter(',');
  command->add_option("--html", o->html_file, "Write the report as a page with charts");
  command->add_option("-o,--out", o->out_file,
                      "Write the summary as Markdown; the rows are printed");
  command->add_flag("--force", o->force, "Replace files that are there");
  command->add_flag("--recipes", o->recipes,
                    "Also search beside every row of tier A: is the recipe's place near the top?");
  command->add_option("--threads", o->threads, "Threads (default: all cores)")
      ->check(in_range(0, 1024));
  command->add_flag("--json", o->json, "Print JSON");
  // For fitting: profiles that do not ship.
  command->add_option("--profile", o->profiles, "Profile files to use instead")->group("");
  command->add_option("--profile-dir", o->profile_folder, "A folder of such files")->group("");
  command->footer(
      "Examples:\n"
      "  pleat validate\n"
      "  pleat validate --rows runs.jsonl --tier A,B --json\n"
      "  pleat validate --recipes --out docs/VALIDATION.md --force");
  command->callback([&action, o] { action = [o] { validate(*o); }; });
}

}  // namespace pleat::cli
