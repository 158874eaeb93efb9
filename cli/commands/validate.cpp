// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat validate
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/validate_runs.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {

void add_validate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("validate", "Predictions against published, measured runs");
  const auto o = std::make_shared<ValidateOptions>();
  command->add_option("--rows", o->question.rows,
                      "Files of runs, one JSON object a line (default: those that ship)");
  command->add_option("--tier", o->question.tiers, "Only rows of these tiers, with commas between")
      ->delimiter(',');
  command->add_option("--html", o->html_file, "Write the report as a page with charts");
  command->add_option("-o,--out", o->out_file,
                      "Write the summary as Markdown; the rows are printed");
  command->add_flag("--force", o->force, "Replace files that are there");
  command->add_flag("--recipes", o->question.recipes,
                    "Also search beside every row of tier A: is the recipe's place near the top?");
  CLI::Option* const learn =
      command
          ->add_option("--learn", o->learn,
                       "Judge `pleat calibrate --from-runs`: for every cluster and model with 5 or "
                       "more rows, learn from so many of them and compare the errors of the others")
          ->check(in_range(1, 100));
  command
      ->add_option("--draws", o->draws, "With --learn: how often rows are drawn, with a fixed seed")
      ->capture_default_str()
      ->check(in_range(1, 10'000))
      ->needs(learn);
  command
      ->add_option("--know", o->question.know,
                   "What predictions know of a cluster: all, tables (of kernels, nothing that was "
                   "fitted to runs) or datasheet")
      ->capture_default_str()
      ->check(one_of({"all", "tables", "datasheet"}));
  command->add_option("--threads", o->question.threads, "Threads (default: all cores)")
      ->check(in_range(0, 1024));
  command->add_flag("--json", o->json, "Print JSON");
  // For fitting: profiles that do not ship.
  command->add_option("--profile", o->question.profiles, "Profile files to use instead")->group("");
  command->add_option("--profile-dir", o->question.profile_folder, "A folder of such files")
      ->group("");
  command->footer(
      "Examples:\n"
      "  pleat validate\n"
      "  pleat validate --rows runs.jsonl --tier A,B --json\n"
      "  pleat validate --learn 2 --know tables\n"
      "  pleat validate --recipes --out docs/VALIDATION.md --force");
  command->callback([&action, o] { action = [o] { validate(*o); }; });
}

}  // namespace pleat::cli
