// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/config/option_defaults.hpp"
#include "cli/list_entries.hpp"
#include "cli/short_help.hpp"
#include "cli/suggestions.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "console/style.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

constexpr int code(ExitCode c) { return static_cast<int>(c); }

void complain(const std::string& text) {
  std::fprintf(stderr, "%s\n", (stderr_has_colours() ? colour_messages(text) : text).c_str());
}

void add_quiet(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    const auto inner = command->get_subcommands({});
    if (inner.empty()) {
      command->add_flag_callback("--quiet", be_quiet,
                                 "Print the answer, warnings and errors, nothing else");
    } else {
      add_quiet(*command);
    }
  }
}

// Every command that writes files can say what it would write instead.
void add_dry_runs(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    const auto has = [&](const char* name) {
      return command->get_option_no_throw(name) != nullptr;
    };
    if (has("--dry-run") || !(has("--out") || has("--trace") || has("--html"))) continue;
    command->add_flag_callback("--dry-run", only_say_writes,
                               "Write nothing, say what would be written");
  }
}

void add_commands(CLI::App& app, Action& action, const BackendCommands& backend) {
  add_models_command(app, action);
  add_clusters_command(app, action);
  add_model_command(app, action);
  add_program_command(app, action);
  add_predict_command(app, action);
  add_plan_command(app, action);
  add_capacity_command(app, action);
  add_train_command(app, action, backend);
  add_checkpoint_command(app, action, backend);
  add_sample_command(app, action, backend);
  add_data_command(app, action, backend);
  add_calibrate_command(app, action, backend);
  add_compare_command(app, action);
  add_tune_command(app, action, backend);
  add_validate_command(app, action);
  add_export_command(app, action);
  add_export_weights_command(app, action, backend);
  add_launch_command(app, action);
  add_import_command(app, action);
  add_improve_command(app, action);
  add_watch_command(app, action);
  add_serve_command(app, action);
  add_diff_command(app, action);
  add_config_command(app, action);
  add_doctor_command(app, action);
  add_completion_command(app, action);
  add_version_command(app, action);
  add_help_command(app, action);
  add_dry_runs(app);
  add_quiet(app);
  add_full_help(app);
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& e) {
  const Diagnostic problem{Severity::error,       ExitCode::bad_request, "", "",
                           parse_problem(app, e), parse_hint(app, e)};
  complain(to_text(problem));
  return code(ExitCode::bad_request);
}

int report_output_error(const OutputError& e) {
  // A reader that has seen enough (head, less) is not worth a message.
  if (e.error_number() != EPIPE) complain(std::string("error: ") + e.what());
  return code(ExitCode::device_or_io);
}

// Beside an error: what nobody typed may be what it is about.
void tell_defaults(const CLI::App& app) {
  const std::vector<std::string> names = taken_defaults();
  if (names.empty()) return;
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  complain("  note: defaults from " + defaults_file(app) + ": " + all);
}

// Beside another error: what was left out may be in the file.
void tell_problem_of_defaults() {
  if (!defaults_problem()) return;
  const Diagnostic& first = defaults_problem()->diagnostics().front();
  complain(fmt::format("  note: no defaults were read: {}{}{}: {}", first.where,
                       first.where.empty() || first.path.empty() ? "" : ": ", first.path,
                       first.message));
}

// Commands that say what is wrong with the file of defaults, or mend it, or read none.
bool needs_no_defaults(const CLI::App& command) {
  const std::string name = full_name(command);
  for (const char* one : {"config", "doctor", "completion", "version", "help"}) {
    if (name.starts_with(std::string("pleat ") + one)) return true;
  }
  return false;
}

int run(CLI::App& app, const Action& action) {
  try {
    action();
    flush_output();
    return code(ExitCode::done);
  } catch (const ConfigError& e) {
    complain(e.what());
    if (e.exit_code() == ExitCode::bad_request) tell_defaults(app);
    return code(e.exit_code());
  } catch (const ExitRequest& e) {
    if (*e.what() != '\0') complain(e.what());
    return e.exit_code();
  } catch (const OutputError& e) {
    return report_output_error(e);
  } catch (const CLI::ParseError& e) {  // options that only the command can judge
    return report_parse_error(app, e);
  } catch (const std::bad_alloc&) {
    complain("error: out of memory");
    return code(ExitCode::device_or_io);
  } catch (const std::exception& e) {
    complain(std::string("error: ") + e.what());
    return code(ExitCode::device_or_io);
  }
}

}  // namespace

int run_command_line(int argc, char** argv, const BackendCommands& backend) {
  handle_signals();
  CLI::App app("Pleat plans, predicts and runs Mixture-of-Experts training.", "pleat");
  app.require_subcommand(1);
  app.footer(
      "`pleat help COMMAND` describes one command and gives examples of it.\n"
      "Exit codes: 0 done, 2 the request is wrong, 3 a file is wrong, 4 nothing fits,\n"
      "5 input, output or device, 6 verification or mismatch, 7 refused for safety,\n"
      "75 stopped by SIGTERM, 130 interrupted.");
  Action action;
  app.set_version_flag("--version", version_text());
  add_commands(app, action, backend);
  take_option_defaults(app);
  if (argc > 1 && argv[1][0] != '-' && find_command(app, argv[1]) == nullptr) {
    return run(app, [&] { throw_unknown_command(app, argv[1]); });
  }
  try {
    app.parse(argc, argv);
    refuse_empty_entries(app, std::vector<std::string>(argv + 1, argv + argc));
  } catch (const CLI::Success& e) {  // --help, --version
    return run(app, [&] {
      if (e.get_name() == "CallForVersion") {
        print(version_text() + "\n");
      } else if (e.get_name() == "CallForAllHelp") {
        print_help(help_text(app, &selected(app)));
      } else {
        print_help(short_help(app, selected(app)));
      }
    });
  } catch (const CLI::ParseError& e) {
    const int exit_code = report_parse_error(app, e);
    tell_problem_of_defaults();
    tell_defaults(app);
    return exit_code;
  }
  if (defaults_problem() && !needs_no_defaults(selected(app))) {
    return run(app, [] { throw *defaults_problem(); });
  }
  return run(app, action);
}

}  // namespace pleat::cli
