// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One function a subcommand: declares its options, and on parsing sets the action to run.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>

namespace pleat::cli {

struct BackendCommands;
using Action = std::function<void()>;

void add_models_command(CLI::App&, Action&);
void add_clusters_command(CLI::App&, Action&);
void add_model_command(CLI::App&, Action&);
void add_program_command(CLI::App&, Action&);
void add_predict_command(CLI::App&, Action&);
void add_plan_command(CLI::App&, Action&);
void add_capacity_command(CLI::App&, Action&);
void add_train_command(CLI::App&, Action&, const BackendCommands&);
void add_checkpoint_command(CLI::App&, Action&, const BackendCommands&);
void add_sample_command(CLI::App&, Action&, const BackendCommands&);
void add_data_command(CLI::App&, Action&, const BackendCommands&);
void add_calibrate_command(CLI::App&, Action&, const BackendCommands&);
void add_compare_command(CLI::App&, Action&);
void add_tune_command(CLI::App&, Action&, const BackendCommands&);
void add_validate_command(CLI::App&, Action&);
void add_export_command(CLI::App&, Action&);
void add_export_weights_command(CLI::App&, Action&, const BackendCommands&);
void add_launch_command(CLI::App&, Action&);
void add_import_command(CLI::App&, Action&);
void add_improve_command(CLI::App&, Action&);
void add_watch_command(CLI::App&, Action&);
void add_serve_command(CLI::App&, Action&);
void add_diff_command(CLI::App&, Action&);
void add_config_command(CLI::App&, Action&);
void add_doctor_command(CLI::App&, Action&);
void add_completion_command(CLI::App&, Action&);
void add_version_command(CLI::App&, Action&);
void add_help_command(CLI::App&, Action&);

[[nodiscard]] std::string version_text();  // "pleat 0.1.0"

}  // namespace pleat::cli
