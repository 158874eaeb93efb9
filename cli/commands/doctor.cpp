// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat doctor
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "application/doctor/machine_checks.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/doctor_report.hpp"
#include "cli/config/option_defaults.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"

namespace pleat::cli {
namespace {

MachineCheck defaults(const CLI::App& app) {
  const std::string file = defaults_file(app);
  std::error_code error;
  MachineCheck check{.name = "defaults", .there = !defaults_problem().has_value(), .needed = true};
  if (!check.there) {
    check.found = defaults_problem()->diagnostics().front().path + ": " +
                  defaults_problem()->diagnostics().front().message + " (" + file + ")";
    check.mend = "pleat config";
  } else if (!std::filesystem::exists(file, error)) {
    check.found = "none: " + (file.empty() ? "no file is named" : "no " + file);
  } else {
    check.found = file;
  }
  return check;
}

void look(const CLI::App& app, bool json) {
  std::vector<MachineCheck> checks = machine_checks(gpus_here());
  checks.insert(checks.begin() + 1, defaults(app));
  print(json ? doctor_json(checks, version_text()).dump() + "\n"
             : version_text() + "\n\n" + doctor_text(checks, terminal().columns));
  if (!is_well(checks)) throw ExitRequest(static_cast<int>(ExitCode::device_or_io), "");
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "What of Pleat is installed here, and the command that mends what is missing");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->footer(
      "Exits with 5 if something is missing that commands need here.\n\n"
      "Examples:\n"
      "  pleat doctor\n"
      "  pleat doctor --json");
  command->callback([&app, &action, json] { action = [&app, json] { look(app, *json); }; });
}

}  // namespace pleat::cli
