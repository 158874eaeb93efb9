// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_commands.hpp"

#include "cli/backend/run_commands.hpp"

namespace pleat::cli {

BackendCommands backend_commands() {
  return {
      .train = run_train,
      .verify_checkpoints = verify_checkpoints,
      .repair_checkpoints = repair_checkpoints,
      .sample_text = sample_text,
      .make_data = make_data,
      .inspect_data = inspect_data,
      .tokenize_text = tokenize_text,
      .calibrate_machine = calibrate_machine,
      .tune = run_tune,
      .export_weights = export_weights,
  };
}

}  // namespace pleat::cli
